-- +goose Up

-- Planned times of a task that did not run and are made up for, the oldest first and
-- one at a time.
create table backfills (
  id           uuid primary key,
  workspace_id uuid not null references workspaces on delete cascade,
  task_id      uuid not null,
  automation_revision bigint not null, -- the times are this revision's
  from_at      timestamptz not null,
  to_at        timestamptz not null,
  only_missing boolean not null,
  times        jsonb not null, -- [instant, ...], the oldest first
  done         int not null default 0 check (done >= 0), -- how many of them are through
  tick_id      uuid, -- of the one that is under way
  again        boolean not null default false, -- its first run gave way to the schedule
  state        text not null default 'open' check (state in ('open', 'done', 'canceled')),
  reason       text, -- what it waits for, or why it was canceled
  actor_kind   text not null check (actor_kind in ('person', 'token', 'agent', 'system')),
  actor_id     uuid,
  created_at   timestamptz not null default clock_timestamp(),
  ended_at     timestamptz,
  unique (workspace_id, id),
  foreign key (workspace_id, task_id) references tasks (workspace_id, id) on delete cascade,
  check ((state = 'open') = (ended_at is null)),
  check (jsonb_typeof(times) = 'array' and done <= jsonb_array_length(times))
);
create unique index backfills_one_open on backfills (task_id) where state = 'open';
create index backfills_task on backfills (task_id, id desc);

-- A time that ran already has its tick. When it is run again, that is a request for
-- it: the new row names it as its first and last.
alter table ticks drop constraint ticks_check1;
alter table ticks add constraint ticks_time_of_origin check (
  (planned_at is not null) = (origin in ('heartbeat', 'schedule', 'every', 'once', 'backfill'))
  or origin = 'backfill' and first_planned_at is not null and first_planned_at = last_planned_at);

-- +goose Down
delete from ticks where origin = 'backfill' and planned_at is null;
alter table ticks drop constraint ticks_time_of_origin;
alter table ticks add constraint ticks_check1 check ((planned_at is not null) = (origin in ('heartbeat', 'schedule', 'every', 'once', 'backfill')));
drop table backfills;
