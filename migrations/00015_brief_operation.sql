-- +goose Up
-- The briefs that an operation opened are asked for at each of its steps.
create index briefs_operation on briefs (operation_id) where operation_id is not null;

-- +goose Down
drop index briefs_operation;
