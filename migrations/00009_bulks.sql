-- +goose Up

-- One order for many tasks. Each of them is moved in a transaction of its own, which
-- notes here what came of it: whoever goes on after a crash knows what is left.
create table bulks (
  id           uuid primary key,
  workspace_id uuid not null references workspaces on delete cascade,
  action       text not null check (action in ('pause', 'resume', 'cancel', 'undo')),
  undo_of      uuid unique references bulks on delete cascade,
  note         text,
  actor_kind   text not null check (actor_kind in ('person', 'token', 'agent', 'system')),
  actor_id     uuid,
  created_at   timestamptz not null default clock_timestamp(),
  unique (workspace_id, id),
  check ((action = 'undo') = (undo_of is not null))
);
create index bulks_age on bulks (created_at);

create table bulk_tasks (
  workspace_id uuid not null references workspaces on delete cascade,
  bulk_id      uuid not null,
  task_id      uuid not null,
  position     int not null check (position >= 0),
  state        text not null default 'pending' check (state in ('pending', 'changed', 'skipped')),
  from_status  text check (from_status in ('backlog', 'scheduled', 'running', 'paused', 'completed', 'failed', 'canceled')),
  code         text, -- why it was skipped
  detail       text, -- the same in words
  at           timestamptz, -- of the change
  primary key (bulk_id, task_id),
  foreign key (workspace_id, bulk_id) references bulks (workspace_id, id) on delete cascade,
  foreign key (workspace_id, task_id) references tasks (workspace_id, id) on delete cascade,
  check ((state = 'skipped') = (code is not null)),
  check ((state = 'changed') = (from_status is not null)),
  check ((state = 'changed') = (at is not null))
);
create index bulk_tasks_pending on bulk_tasks (bulk_id, position) where state = 'pending';
create index bulk_tasks_task on bulk_tasks (task_id);

-- +goose Down
drop table bulk_tasks, bulks;
