-- +goose Up

-- Who works, and what is to be done.

-- An agent is its current revision; a revision never changes.
create table agents (
  id                  uuid primary key,
  workspace_id        uuid not null references workspaces on delete cascade,
  slug                text not null check (slug ~ '^[a-z0-9][a-z0-9-]{0,62}$'),
  name                text not null check (length(name) between 1 and 200),
  description         text not null default '',
  is_default          boolean not null default false,
  origin              text not null default 'person' check (origin in ('person', 'bundle', 'built_in')),
  current_revision_id uuid not null,
  paused_at           timestamptz,
  pause_note          text,
  disabled_at         timestamptz,
  version             bigint not null default 1,
  created_at          timestamptz not null default clock_timestamp(),
  updated_at          timestamptz not null default clock_timestamp(),
  unique (workspace_id, id),
  unique (workspace_id, slug)
);
create unique index agents_default on agents (workspace_id) where is_default;

create table agent_revisions (
  id           uuid primary key,
  workspace_id uuid not null references workspaces on delete cascade,
  agent_id     uuid not null,
  number       int not null check (number >= 1),
  digest       text not null,
  profile      jsonb not null,
  created_by_kind text not null check (created_by_kind in ('person', 'token', 'agent', 'system')),
  created_by_id   uuid,
  created_at   timestamptz not null default clock_timestamp(),
  unique (agent_id, number),
  unique (workspace_id, agent_id, id),
  foreign key (workspace_id, agent_id) references agents (workspace_id, id) on delete cascade
);
alter table agents add foreign key (workspace_id, id, current_revision_id)
  references agent_revisions (workspace_id, agent_id, id) deferrable initially deferred;

create table tasks (
  id                uuid primary key,
  workspace_id      uuid not null references workspaces on delete cascade,
  seq               bigint not null check (seq >= 1),
  identifier        text not null generated always as ('T-' || seq) stored,
  name              text not null check (length(name) between 1 and 200),
  description       text not null default '',
  instruction       text not null check (length(instruction) between 1 and 100000),
  instruction_rich  jsonb,
  status            text not null check (status in ('backlog', 'scheduled', 'running', 'paused', 'completed', 'failed', 'canceled')),
  status_reason     text not null,
  error             text,
  priority          text not null default 'none' check (priority in ('none', 'urgent', 'high', 'normal', 'low')),
  labels            text[] not null default '{}',
  parent_id         uuid,
  assignee_agent_id uuid,
  assignee_user_id  uuid references people on delete set null,
  config            jsonb not null default '{}',
  created_by_kind   text not null check (created_by_kind in ('person', 'token', 'agent', 'system')),
  created_by_id     uuid,
  created_by_operation_id uuid,

  -- The standing order. automation is canonical; revision counts its edits, so
  -- that what was planned under an old one can be told apart.
  automation          jsonb,
  automation_mode     text check (automation_mode in ('heartbeat', 'schedule', 'every')),
  automation_revision bigint not null default 0,
  start_at            timestamptz,
  armed_at            timestamptz,
  -- A cache of the next fire, computed in the transaction that changes anything
  -- it depends on. fire is planned plus jitter.
  next_planned_at     timestamptz,
  next_fire_at        timestamptz,
  executions          int not null default 0 check (executions >= 0), -- scheduled runs since arming
  failures            int not null default 0 check (failures >= 0),   -- failed ticks in a row
  max_topics          int check (max_topics >= 1),
  total_topics        int not null default 0 check (total_topics >= 0),
  current_topic_id    uuid,
  last_run_at         timestamptz,
  cost_usd            numeric(20, 9) default 0, -- of all runs; null once one is not known

  version      bigint not null default 1,
  created_at   timestamptz not null default clock_timestamp(),
  updated_at   timestamptz not null default clock_timestamp(),
  started_at   timestamptz,
  completed_at timestamptz,
  deleted_at   timestamptz,

  unique (workspace_id, id),
  unique (workspace_id, seq),
  foreign key (workspace_id, parent_id) references tasks (workspace_id, id) on delete set null (parent_id),
  foreign key (workspace_id, assignee_agent_id) references agents (workspace_id, id) on delete set null (assignee_agent_id),
  check (parent_id is null or parent_id <> id),
  check ((automation is null) = (automation_mode is null)),
  check ((next_planned_at is null) = (next_fire_at is null)),
  check (next_fire_at is null or status in ('scheduled', 'running')),
  check ((status in ('completed', 'failed', 'canceled')) = (completed_at is not null)),
  check (status <> 'scheduled' or automation is not null or start_at is not null)
);
create unique index tasks_identifier on tasks (workspace_id, identifier);
create index tasks_due on tasks (next_fire_at) where next_fire_at is not null and deleted_at is null;
create index tasks_list on tasks (workspace_id, id desc) where deleted_at is null;
create index tasks_status on tasks (workspace_id, status, id desc) where deleted_at is null;
create index tasks_parent on tasks (parent_id, id) where parent_id is not null;
create index tasks_agent on tasks (assignee_agent_id) where assignee_agent_id is not null;
create index tasks_next on tasks (workspace_id, next_fire_at) where next_fire_at is not null and deleted_at is null;
create index tasks_labels on tasks using gin (labels);
create index tasks_created_by_operation on tasks (created_by_operation_id) where created_by_operation_id is not null;
create index tasks_running on tasks (id) where status = 'running';

-- Every change of a task's status, by whom and why.
create table task_moves (
  id           uuid primary key,
  workspace_id uuid not null references workspaces on delete cascade,
  task_id      uuid not null,
  from_status  text check (from_status in ('backlog', 'scheduled', 'running', 'paused', 'completed', 'failed', 'canceled')),
  to_status    text not null check (to_status in ('backlog', 'scheduled', 'running', 'paused', 'completed', 'failed', 'canceled')),
  reason       text not null,
  actor_kind   text not null check (actor_kind in ('person', 'token', 'agent', 'system')),
  actor_id     uuid,
  note         text,
  topic_id     uuid,
  at           timestamptz not null default clock_timestamp(),
  foreign key (workspace_id, task_id) references tasks (workspace_id, id) on delete cascade
);
create index task_moves_task on task_moves (task_id, id desc);

-- task_id depends on upstream_id. No edge leads to itself; cycles are refused
-- under the workspace's graph lock.
create table task_dependencies (
  workspace_id uuid not null references workspaces on delete cascade,
  task_id      uuid not null,
  upstream_id  uuid not null,
  type         text not null default 'blocks' check (type in ('blocks', 'relates')),
  condition    text check (condition in ('done', 'success', 'failure', 'finished')),
  created_at   timestamptz not null default clock_timestamp(),
  primary key (task_id, upstream_id),
  foreign key (workspace_id, task_id) references tasks (workspace_id, id) on delete cascade,
  foreign key (workspace_id, upstream_id) references tasks (workspace_id, id) on delete cascade,
  check (task_id <> upstream_id),
  check ((type = 'blocks') = (condition is not null))
);
create index task_dependencies_upstream on task_dependencies (upstream_id);

create table task_comments (
  id                uuid primary key,
  workspace_id      uuid not null references workspaces on delete cascade,
  task_id           uuid not null,
  author_kind       text not null check (author_kind in ('person', 'token', 'agent', 'system')),
  author_id         uuid,
  content           text not null check (length(content) between 1 and 100000),
  topic_id          uuid,
  brief_id          uuid,
  -- The run whose prompt took it up as feedback; it is fresh until then.
  consumed_topic_id uuid,
  version           bigint not null default 1,
  created_at        timestamptz not null default clock_timestamp(),
  updated_at        timestamptz not null default clock_timestamp(),
  deleted_at        timestamptz,
  foreign key (workspace_id, task_id) references tasks (workspace_id, id) on delete cascade
);
create index task_comments_task on task_comments (task_id, id desc) where deleted_at is null;
create index task_comments_fresh on task_comments (task_id, id)
  where consumed_topic_id is null and deleted_at is null and author_kind in ('person', 'token');

-- Bytes live in the blob store under their hash; a row gives them a name.
create table files (
  id              uuid primary key,
  workspace_id    uuid not null references workspaces on delete cascade,
  name            text not null check (length(name) between 1 and 255),
  media_type      text not null,
  size            bigint not null check (size >= 0),
  sha256          text not null check (sha256 ~ '^[0-9a-f]{64}$'),
  created_by_kind text not null check (created_by_kind in ('person', 'token', 'agent', 'system')),
  created_by_id   uuid,
  created_at      timestamptz not null default clock_timestamp(),
  unique (workspace_id, id)
);
create index files_sha256 on files (sha256);

create table task_files (
  workspace_id uuid not null references workspaces on delete cascade,
  task_id      uuid not null,
  file_id      uuid not null,
  primary key (task_id, file_id),
  foreign key (workspace_id, task_id) references tasks (workspace_id, id) on delete cascade,
  foreign key (workspace_id, file_id) references files (workspace_id, id) on delete cascade
);

-- The library: text with versions. content repeats the current version, so that
-- a list or a search needs one table.
create table documents (
  id              uuid primary key,
  workspace_id    uuid not null references workspaces on delete cascade,
  title           text not null check (length(title) between 1 and 300),
  folder          text not null default '' check (length(folder) <= 500),
  kind            text not null default 'markdown' check (kind in ('markdown', 'text', 'csv', 'json', 'html')),
  content         text not null check (octet_length(content) <= 4194304),
  size            bigint not null generated always as (octet_length(content)) stored,
  version         bigint not null default 1,
  created_by_kind text not null check (created_by_kind in ('person', 'token', 'agent', 'system')),
  created_by_id   uuid,
  topic_id        uuid, -- the run that wrote the current version
  -- The head of a long text is enough to find it; a tsvector may not exceed 1 MB.
  search          tsvector not null generated always as (
                    setweight(to_tsvector('simple', title), 'A') || to_tsvector('simple', left(content, 200000))) stored,
  created_at      timestamptz not null default clock_timestamp(),
  updated_at      timestamptz not null default clock_timestamp(),
  deleted_at      timestamptz,
  unique (workspace_id, id)
);
create index documents_list on documents (workspace_id, folder, id desc) where deleted_at is null;
create index documents_search on documents using gin (search) where deleted_at is null;
create unique index documents_title on documents (workspace_id, folder, title) where deleted_at is null;

create table document_versions (
  workspace_id    uuid not null references workspaces on delete cascade,
  document_id     uuid not null,
  version         bigint not null check (version >= 1),
  title           text not null,
  content         text not null,
  created_by_kind text not null check (created_by_kind in ('person', 'token', 'agent', 'system')),
  created_by_id   uuid,
  topic_id        uuid,
  created_at      timestamptz not null default clock_timestamp(),
  primary key (document_id, version),
  foreign key (workspace_id, document_id) references documents (workspace_id, id) on delete cascade
);

-- Documents pinned to a task: in the prompt of each run.
create table task_documents (
  workspace_id   uuid not null references workspaces on delete cascade,
  task_id        uuid not null,
  document_id    uuid not null,
  pinned_by_kind text not null check (pinned_by_kind in ('person', 'token', 'agent', 'system')),
  created_at     timestamptz not null default clock_timestamp(),
  primary key (task_id, document_id),
  foreign key (workspace_id, task_id) references tasks (workspace_id, id) on delete cascade,
  foreign key (workspace_id, document_id) references documents (workspace_id, id) on delete cascade
);
create index task_documents_document on task_documents (document_id);

-- +goose Down
drop table task_documents, document_versions, documents, task_files, files, task_comments, task_dependencies, task_moves, tasks;
alter table agents drop constraint agents_workspace_id_id_current_revision_id_fkey;
drop table agent_revisions, agents;
