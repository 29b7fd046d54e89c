-- +goose Up

-- The ledger of a span of time: of an hour last week without the ticks since.
create index ticks_fire on ticks (workspace_id, fire_at desc);

-- +goose Down
drop index ticks_fire;
