-- +goose Up

alter table tasks
  -- Planned times in a row that did not run for want of something: what a person
  -- should hear of when it goes on.
  add column skips int not null default 0 check (skips >= 0);

-- +goose Down
alter table tasks drop column skips;
