-- +goose Up

alter table tasks
  -- Automated runs in a row whose handoff said what the one before had said.
  add column repeats  int not null default 0 check (repeats >= 0),
  -- Why the next fire of a heartbeat is not simply an interval away, in words. It
  -- goes with the fire that it is about.
  add column next_why text check (next_fire_at is not null or next_why is null);
-- A further try of a run begins then, and not before.
alter table operations add column begin_at timestamptz;

-- +goose Down
alter table operations drop column begin_at;
alter table tasks drop column next_why, drop column repeats;
