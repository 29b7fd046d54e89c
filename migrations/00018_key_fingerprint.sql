-- +goose Up

-- What tells the secret key that this database is used with from another one, and
-- nothing of the key itself. Taken from whoever starts on it first.
create table key_fingerprint (
  one         boolean primary key default true check (one),
  fingerprint bytea not null check (octet_length(fingerprint) = 32),
  taken_at    timestamptz not null default clock_timestamp()
);

-- +goose Down
drop table key_fingerprint;
