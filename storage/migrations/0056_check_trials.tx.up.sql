-- Configs that are tried and not saved, for as long as their probes run. Unlogged: a row is
-- worth nothing after its end. The secrets of a config are sealed, as in checks.
CREATE UNLOGGED TABLE IF NOT EXISTS check_trials (
    id          uuid        PRIMARY KEY,
    org_id      uuid        NOT NULL,
    type        text        NOT NULL,
    config      jsonb       NOT NULL,
    target      text        NOT NULL,
    interval_ms bigint      NOT NULL,
    ends        timestamptz NOT NULL
);
