-- +goose Up

-- One run at a time for a concurrency key, whatever the task: the open topic that
-- holds the key's slot.
create table slots (
  workspace_id uuid not null references workspaces on delete cascade,
  key          text not null check (length(key) between 1 and 200),
  topic_id     uuid not null unique,
  task_id      uuid not null,
  taken_at     timestamptz not null default clock_timestamp(),
  primary key (workspace_id, key),
  foreign key (workspace_id, topic_id) references topics (workspace_id, id) on delete cascade deferrable initially deferred,
  foreign key (workspace_id, task_id) references tasks (workspace_id, id) on delete cascade
);
create index tasks_concurrency_key on tasks (workspace_id, (config ->> 'concurrencyKey')) where config ->> 'concurrencyKey' is not null;
create index ticks_queued on ticks (workspace_id, task_id) where state = 'queued';

-- An operation that has committed no step by then is stalled.
create index operations_deadline on operations (deadline_at) where status in ('idle', 'running') and deadline_at is not null;

-- +goose Down
drop index operations_deadline, ticks_queued, tasks_concurrency_key;
drop table slots;
