-- +goose Up

-- Who is here, and where. Every row of every later table belongs to a workspace.

create table workspaces (
  id          uuid primary key,
  slug        text not null unique check (slug ~ '^[a-z0-9][a-z0-9-]{0,62}$'),
  name        text not null check (length(name) between 1 and 200),
  timezone    text not null default 'UTC',
  -- Counters of the numbers people see (T-12, B-7). They only grow, so that the
  -- number of a deleted thing is never used again.
  task_seq    bigint not null default 0,
  brief_seq   bigint not null default 0,
  paused_at   timestamptz,
  pause_note  text,
  read_only   boolean not null default false,
  version     bigint not null default 1,
  created_at  timestamptz not null default clock_timestamp(),
  updated_at  timestamptz not null default clock_timestamp()
);

create table people (
  id            uuid primary key,
  email         text not null check (email = lower(email) and length(email) between 3 and 320),
  name          text not null check (length(name) between 1 and 200),
  password_hash text not null,
  timezone      text not null default 'UTC',
  language      text not null default 'en' check (language in ('en', 'zh-CN')),
  disabled_at   timestamptz,
  version       bigint not null default 1,
  created_at    timestamptz not null default clock_timestamp(),
  updated_at    timestamptz not null default clock_timestamp()
);
create unique index people_email on people (email);

create table memberships (
  workspace_id uuid not null references workspaces on delete cascade,
  person_id    uuid not null references people on delete cascade,
  role         text not null check (role in ('viewer', 'operator', 'admin')),
  created_at   timestamptz not null default clock_timestamp(),
  primary key (workspace_id, person_id)
);
create index memberships_person on memberships (person_id);

-- A session is found by the hash of its cookie; the cookie itself is not kept.
create table sessions (
  id           uuid primary key,
  person_id    uuid not null references people on delete cascade,
  token_hash   bytea not null unique check (octet_length(token_hash) = 32),
  csrf_token   text not null,
  user_agent   text not null default '',
  address      text not null default '',
  created_at   timestamptz not null default clock_timestamp(),
  last_seen_at timestamptz not null default clock_timestamp(),
  expires_at   timestamptz not null
);
create index sessions_person on sessions (person_id);
create index sessions_expiry on sessions (expires_at);

-- One-time sign-in links.
create table sign_in_links (
  token_hash bytea primary key check (octet_length(token_hash) = 32),
  person_id  uuid not null references people on delete cascade,
  created_at timestamptz not null default clock_timestamp(),
  expires_at timestamptz not null,
  used_at    timestamptz
);

create table tokens (
  id           uuid primary key,
  workspace_id uuid not null references workspaces on delete cascade,
  person_id    uuid not null references people on delete cascade,
  name         text not null check (length(name) between 1 and 200),
  role         text not null check (role in ('viewer', 'operator', 'admin')),
  scopes       text[] not null default '{}',
  token_hash   bytea not null unique check (octet_length(token_hash) = 32),
  prefix       text not null,
  expires_at   timestamptz,
  last_used_at timestamptz,
  created_at   timestamptz not null default clock_timestamp()
);
create index tokens_workspace on tokens (workspace_id, id);

-- Sealed values: ciphertext only, by a key that is not in the database.
create table secrets (
  id           uuid primary key,
  workspace_id uuid not null references workspaces on delete cascade,
  name         text not null check (length(name) between 1 and 200),
  sealed       bytea not null,
  key_id       text not null,
  expires_at   timestamptz,
  version      bigint not null default 1,
  created_at   timestamptz not null default clock_timestamp(),
  updated_at   timestamptz not null default clock_timestamp(),
  unique (workspace_id, name)
);

-- Who changed what. Never updated, never deleted by the product.
create table audit (
  id           uuid primary key,
  workspace_id uuid not null references workspaces on delete cascade,
  actor_kind   text not null check (actor_kind in ('person', 'token', 'agent', 'system')),
  actor_id     uuid,
  action       text not null,
  subject_kind text not null,
  subject_id   uuid,
  detail       jsonb not null default '{}',
  at           timestamptz not null default clock_timestamp()
);
create index audit_workspace on audit (workspace_id, id desc);

-- The first answer to a POST with an Idempotency-Key, per caller.
create table idempotency_keys (
  workspace_id uuid not null references workspaces on delete cascade,
  caller       text not null,
  key          text not null check (length(key) between 1 and 255),
  request_hash bytea not null check (octet_length(request_hash) = 32),
  status       int,
  headers      jsonb,
  body         bytea,
  created_at   timestamptz not null default clock_timestamp(),
  locked_until timestamptz,
  primary key (workspace_id, caller, key),
  check ((status is null) = (locked_until is not null))
);
create index idempotency_keys_age on idempotency_keys (created_at);

-- +goose Down
drop table idempotency_keys, audit, secrets, tokens, sign_in_links, sessions, memberships, people, workspaces;
