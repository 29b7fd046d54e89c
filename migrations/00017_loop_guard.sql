-- +goose Up
-- What makes two calls of one operation equal; null where a call is not counted.
alter table tool_calls add column digest text;
create index tool_calls_equal on tool_calls (operation_id, digest) where digest is not null;

-- +goose Down
drop index tool_calls_equal;
alter table tool_calls drop column digest;
