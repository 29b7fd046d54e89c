-- +goose Up

-- Who holds a workspace or an agent, as the audit names actors: {kind, id}. Null for
-- none, and for what was held before this was kept.
alter table workspaces add column paused_by jsonb, add column maintenance_by jsonb;
alter table agents add column paused_by jsonb;

-- +goose Down
alter table agents drop column paused_by;
alter table workspaces drop column maintenance_by, drop column paused_by;
