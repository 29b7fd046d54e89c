-- +goose Up

-- Dates on which nothing runs, kept once and named by many schedules.
create table calendars (
  id           uuid primary key,
  workspace_id uuid not null references workspaces on delete cascade,
  name         text not null check (length(name) between 1 and 100),
  closed       jsonb not null, -- {"dates": [...], "ranges": [{"from", "to"}]}
  version      bigint not null default 1,
  created_at   timestamptz not null default clock_timestamp(),
  updated_at   timestamptz not null default clock_timestamp(),
  unique (workspace_id, name)
);

-- What holds a whole workspace or all that an agent does. Maintenance is in the
-- row, so that it outlasts every process.
alter table workspaces
  add column maintenance_at   timestamptz,
  add column maintenance_note text,
  add column quiet_hours      jsonb;
alter table agents
  add column quiet_hours jsonb;

-- +goose Down
alter table agents drop column quiet_hours;
alter table workspaces drop column quiet_hours, drop column maintenance_note, drop column maintenance_at;
drop table calendars;
