-- +goose Up

-- Background work. One open row per kind and key; docs/jobs.md is the contract.
create table jobs (
  id           bigint generated always as identity primary key,
  workspace_id uuid references workspaces on delete cascade, -- null for the house's own work
  kind         text not null,
  queue        text not null,
  key          text not null,
  body         jsonb not null default '{}', -- ids only
  state        text not null default 'ready' check (state in ('ready', 'sent', 'running', 'done', 'dead')),
  run_at       timestamptz not null,
  again_at     timestamptz,
  visible_at   timestamptz,
  lease_until  timestamptz,
  worker       text,
  token        int not null default 0,
  delivery     int not null default 0,
  attempt      int not null default 0,
  losses       int not null default 0,
  last_error   text,
  created_at   timestamptz not null default clock_timestamp(),
  closed_at    timestamptz,
  check ((state = 'running') = (lease_until is not null)),
  check ((state = 'sent') = (visible_at is not null)),
  check ((state in ('done', 'dead')) = (closed_at is not null)),
  check (again_at is null or state = 'running')
);
create unique index jobs_open on jobs (kind, key) where state in ('ready', 'sent', 'running');
create index jobs_due on jobs (queue, run_at, id) where state = 'ready';
create index jobs_sent on jobs (visible_at) where state = 'sent';
create index jobs_running on jobs (lease_until) where state = 'running';
create index jobs_closed on jobs (closed_at) where state = 'done';
create index jobs_dead on jobs (id) where state = 'dead';

-- Equal to a key in Redis as long as Redis has not lost what it held.
create table queue_epoch (
  one   boolean primary key default true check (one),
  epoch text not null
);
insert into queue_epoch (epoch) values ('none');

-- What changed, for whoever watches. seq is given after the commit, in one
-- place, so that a reader who has seen n has seen everything up to n.
create table events (
  id           bigint generated always as identity primary key,
  seq          bigint unique,
  workspace_id uuid not null references workspaces on delete cascade,
  type         text not null,
  subject_kind text not null,
  subject_id   uuid not null,
  payload      jsonb not null default '{}',
  at           timestamptz not null default clock_timestamp()
);
create index events_unnumbered on events (id) where seq is null;
create index events_workspace on events (workspace_id, seq) where seq is not null;
create index events_age on events (at);
create sequence events_seq owned by events.seq;

-- +goose Down
drop table events, queue_epoch, jobs;
