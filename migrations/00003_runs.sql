-- +goose Up

-- What happens: ticks, topics, operations and what they leave behind.

-- A tick says "it is time". A planned one is identified by its task and time, a
-- requested one by its request key. The row is written first; a job carries its id.
create table ticks (
  id                  uuid primary key,
  workspace_id        uuid not null references workspaces on delete cascade,
  task_id             uuid not null,
  planned_at          timestamptz,
  fire_at             timestamptz not null,
  request_key         text,
  origin              text not null check (origin in ('heartbeat', 'schedule', 'every', 'once', 'manual', 'dependency',
                        'comment', 'webhook', 'retry', 'backfill', 'signal', 'message', 'synthesis')),
  state               text not null check (state in ('pending', 'queued', 'dispatched', 'ran', 'skipped', 'missed', 'coalesced', 'canceled')),
  reason              text,
  automation_revision bigint not null,
  -- A row may stand for several expired or coalesced times.
  first_planned_at    timestamptz,
  last_planned_at     timestamptz,
  count               int not null default 1 check (count >= 1),
  note                text,
  continues_topic_id  uuid,
  actor_kind          text not null default 'system' check (actor_kind in ('person', 'token', 'agent', 'system')),
  actor_id            uuid,
  topic_id            uuid,
  created_at          timestamptz not null default clock_timestamp(),
  dispatched_at       timestamptz,
  ended_at            timestamptz,
  unique (workspace_id, id),
  foreign key (workspace_id, task_id) references tasks (workspace_id, id) on delete cascade,
  check ((planned_at is null) <> (request_key is null)),
  check ((planned_at is not null) = (origin in ('heartbeat', 'schedule', 'every', 'once', 'backfill'))),
  check (state not in ('skipped', 'missed', 'coalesced', 'canceled') or reason is not null),
  check ((state in ('dispatched', 'ran')) = (topic_id is not null)),
  check ((state in ('pending', 'queued', 'dispatched')) = (ended_at is null))
);
create unique index ticks_planned on ticks (task_id, planned_at) where planned_at is not null;
create unique index ticks_request on ticks (task_id, request_key) where request_key is not null;
create unique index ticks_one_pending on ticks (task_id) where state = 'pending' and planned_at is not null;
create unique index ticks_one_queued on ticks (task_id) where state = 'queued';
create index ticks_task on ticks (task_id, id desc);
create index ticks_workspace on ticks (workspace_id, id desc);
create index ticks_open on ticks (created_at) where state in ('pending', 'dispatched');
create index ticks_age on ticks (ended_at) where ended_at is not null;

-- One run of a task.
create table topics (
  id             uuid primary key,
  workspace_id   uuid not null references workspaces on delete cascade,
  task_id        uuid not null,
  tick_id        uuid not null unique,
  seq            int not null check (seq >= 1),
  origin         text not null check (origin in ('heartbeat', 'schedule', 'every', 'once', 'manual', 'dependency',
                   'comment', 'webhook', 'retry', 'backfill', 'signal', 'message', 'synthesis')),
  status         text not null check (status in ('running', 'completed', 'failed', 'timeout', 'canceled')),
  reason         text, -- completion reason of the operation that counts
  reason_detail  text,
  error          text,
  title          text not null,
  continues_topic_id uuid references topics on delete set null,
  -- {title, summary, keyFindings[], nextAction, unfinished?}
  handoff        jsonb,
  handoff_source text check (handoff_source in ('model', 'fallback')),
  handoff_at     timestamptz,
  final_text     text,
  cost_usd       numeric(20, 9),
  started_at     timestamptz not null default clock_timestamp(),
  completed_at   timestamptz,
  unique (workspace_id, id),
  unique (task_id, seq),
  foreign key (workspace_id, task_id) references tasks (workspace_id, id) on delete cascade,
  foreign key (workspace_id, tick_id) references ticks (workspace_id, id) on delete cascade,
  check ((status = 'running') = (completed_at is null)),
  check ((handoff is null) = (handoff_source is null))
);
create unique index topics_one_open on topics (task_id) where status = 'running';
create index topics_open on topics (started_at) where status = 'running';
create index topics_without_handoff on topics (completed_at) where status <> 'running' and handoff is null;
create index topics_workspace on topics (workspace_id, id desc);
create index topics_task on topics (task_id, id desc);

alter table tasks add foreign key (workspace_id, current_topic_id) references topics (workspace_id, id)
  on delete set null (current_topic_id) deferrable initially deferred;
alter table ticks add foreign key (workspace_id, topic_id) references topics (workspace_id, id)
  on delete cascade deferrable initially deferred;

-- One execution of an agent: the ledger of tokens, cost and steps.
create table operations (
  id                  uuid primary key,
  workspace_id        uuid not null references workspaces on delete cascade,
  task_id             uuid not null,
  topic_id            uuid not null,
  parent_operation_id uuid references operations on delete set null,
  agent_id            uuid,
  agent_revision_id   uuid,
  try                 int not null default 1 check (try >= 1),
  status              text not null check (status in ('idle', 'running', 'waiting_for_human', 'waiting_for_async_tool', 'done', 'error', 'interrupted')),
  completion_reason   text check (completion_reason in ('done', 'error', 'interrupted', 'max_steps', 'cost_limit', 'waiting_for_human', 'waiting_for_async_tool')),
  reason_detail       text,
  error               text,
  model               text not null, -- provider/model
  limits              jsonb not null,
  state               jsonb not null default '{}', -- the brain's checkpoint
  wishes              jsonb not null default '{}', -- what the agent asked for, applied when its topic ends
  step_count          int not null default 0 check (step_count >= 0),
  model_calls         int not null default 0,
  tool_calls          int not null default 0,
  input_tokens        bigint not null default 0,
  output_tokens       bigint not null default 0,
  cache_read_tokens   bigint not null default 0,
  cache_write_tokens  bigint not null default 0,
  reasoning_tokens    bigint not null default 0,
  cost_usd            numeric(20, 9) default 0, -- null once a call's cost is not known
  interrupt_at        timestamptz,
  interrupt_detail    text,
  deadline_at         timestamptz,
  created_at          timestamptz not null default clock_timestamp(),
  started_at          timestamptz,
  last_step_at        timestamptz,
  completed_at        timestamptz,
  unique (workspace_id, id),
  unique (topic_id, try),
  foreign key (workspace_id, task_id) references tasks (workspace_id, id) on delete cascade,
  foreign key (workspace_id, topic_id) references topics (workspace_id, id) on delete cascade,
  foreign key (workspace_id, agent_id) references agents (workspace_id, id) on delete set null (agent_id),
  foreign key (workspace_id, agent_id, agent_revision_id) references agent_revisions (workspace_id, agent_id, id)
    on delete set null (agent_revision_id),
  check ((status in ('done', 'error', 'interrupted')) = (completed_at is not null)),
  check (completed_at is null or completion_reason is not null)
);
create index operations_open on operations (id) where status in ('idle', 'running', 'waiting_for_human', 'waiting_for_async_tool');
create index operations_workspace on operations (workspace_id, id desc);
create index operations_status on operations (workspace_id, status, id desc);
create index operations_agent on operations (agent_id, id desc) where agent_id is not null;
create index operations_task on operations (task_id, id desc);

create table steps (
  workspace_id       uuid not null references workspaces on delete cascade,
  operation_id       uuid not null,
  seq                int not null check (seq >= 1),
  kind               text not null check (kind in ('model', 'tools', 'finish')),
  model              text,
  stop_reason        text,
  input_tokens       bigint not null default 0,
  output_tokens      bigint not null default 0,
  cache_read_tokens  bigint not null default 0,
  cache_write_tokens bigint not null default 0,
  reasoning_tokens   bigint not null default 0,
  estimated          boolean not null default false,
  cost_usd           numeric(20, 9),
  error              text,
  job_id             bigint not null, -- with token: who wrote it
  token              int not null,
  started_at         timestamptz not null,
  completed_at       timestamptz not null default clock_timestamp(),
  primary key (operation_id, seq),
  foreign key (workspace_id, operation_id) references operations (workspace_id, id) on delete cascade
);

-- A call is written down as started before it is made and as finished after.
create table tool_calls (
  id           uuid primary key,
  workspace_id uuid not null references workspaces on delete cascade,
  operation_id uuid not null,
  step_seq     int not null,
  position     int not null check (position >= 0),
  call_id      text not null,
  name         text not null,
  arguments    text not null,
  state        text not null check (state in ('started', 'finished', 'outcome_unknown')),
  result       text,
  is_error     boolean not null default false,
  started_at   timestamptz not null default clock_timestamp(),
  finished_at  timestamptz,
  unique (operation_id, step_seq, position),
  foreign key (workspace_id, operation_id) references operations (workspace_id, id) on delete cascade,
  check ((state = 'started') = (finished_at is null)),
  check ((state = 'finished') = (result is not null))
);

-- The conversation of a topic. Kept as the conversation tree reads it.
create table messages (
  id           uuid primary key,
  workspace_id uuid not null references workspaces on delete cascade,
  topic_id     uuid not null,
  operation_id uuid,
  step_seq     int,
  part         int not null default 0,
  parent_id    uuid,
  thread_id    uuid,
  group_id     uuid,
  agent_id     uuid,
  role         text not null check (role in ('system', 'user', 'assistant', 'tool')),
  content      text not null,
  reasoning    text,
  tool_calls   jsonb, -- of an assistant: [{id, name, arguments}]
  tool_call_id text,  -- of a tool's result
  is_error     boolean not null default false,
  model        text,
  usage        jsonb,
  metadata     jsonb not null default '{}',
  created_at   timestamptz not null default clock_timestamp(),
  updated_at   timestamptz not null default clock_timestamp(),
  foreign key (workspace_id, topic_id) references topics (workspace_id, id) on delete cascade,
  foreign key (workspace_id, operation_id) references operations (workspace_id, id) on delete cascade,
  unique (operation_id, step_seq, part)
);
create index messages_topic on messages (topic_id, id);

-- A card in somebody's inbox. One open per task and cause.
create table briefs (
  id              uuid primary key,
  workspace_id    uuid not null references workspaces on delete cascade,
  number          bigint not null check (number >= 1),
  task_id         uuid,
  topic_id        uuid,
  operation_id    uuid,
  agent_id        uuid,
  type            text not null check (type in ('decision', 'result', 'insight', 'error')),
  priority        text not null check (priority in ('urgent', 'normal', 'info')),
  title           text not null check (length(title) between 1 and 200),
  summary         text not null,
  cause           text not null check (length(cause) between 1 and 200),
  count           int not null default 1 check (count >= 1),
  artifacts       jsonb not null default '[]',
  actions         jsonb not null default '[]',
  receipts        jsonb not null default '[]',
  assignee_id     uuid references people on delete set null,
  due_at          timestamptz,
  snoozed_until   timestamptz,
  read_at         timestamptz,
  resolved_at     timestamptz,
  resolved_action text,
  resolved_comment text,
  resolved_by_kind text check (resolved_by_kind in ('person', 'token', 'agent', 'system')),
  resolved_by_id   uuid,
  -- Set when a button started a run: the brief closes when that tick has ended well.
  retry_tick_id   uuid,
  version         bigint not null default 1,
  created_at      timestamptz not null default clock_timestamp(),
  updated_at      timestamptz not null default clock_timestamp(),
  unique (workspace_id, id),
  unique (workspace_id, number),
  foreign key (workspace_id, task_id) references tasks (workspace_id, id) on delete cascade,
  foreign key (workspace_id, topic_id) references topics (workspace_id, id) on delete set null (topic_id),
  foreign key (workspace_id, operation_id) references operations (workspace_id, id) on delete set null (operation_id),
  foreign key (workspace_id, agent_id) references agents (workspace_id, id) on delete set null (agent_id),
  check ((resolved_at is null) = (resolved_action is null))
);
create unique index briefs_one_open on briefs (task_id, cause) where resolved_at is null and task_id is not null;
create index briefs_open on briefs (workspace_id, id desc) where resolved_at is null;
create index briefs_all on briefs (workspace_id, id desc);
create index briefs_task on briefs (task_id, id desc) where task_id is not null;
create index briefs_retry on briefs (retry_tick_id) where retry_tick_id is not null;

-- +goose Down
drop table briefs, messages, tool_calls, steps, operations;
alter table tasks drop constraint tasks_workspace_id_current_topic_id_fkey;
alter table ticks drop constraint ticks_workspace_id_topic_id_fkey;
drop table topics, ticks;
