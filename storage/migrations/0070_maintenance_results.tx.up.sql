-- Results that uptime leaves out: 1 for those in maintenance, 0 for all others. A constant
-- default changes the catalogue only; no partition is rewritten.
ALTER TABLE results ADD COLUMN IF NOT EXISTS excluded smallint NOT NULL DEFAULT 0;
-- How many results of the hour are left out, and how many of these are successful. They are
-- in no other sum of the row.
ALTER TABLE result_rollups
    ADD COLUMN IF NOT EXISTS excluded bigint NOT NULL DEFAULT 0,
    ADD COLUMN IF NOT EXISTS excluded_successes bigint NOT NULL DEFAULT 0;

-- Checks whose incident workflow knows that no incident may open, since held_at. The sweep
-- wakes the workflow when the maintenance is over, and deletes the row.
CREATE TABLE IF NOT EXISTS maintenance_holds (
    check_id      uuid        PRIMARY KEY REFERENCES checks ON DELETE CASCADE,
    org_id        uuid        NOT NULL,
    held_at       timestamptz NOT NULL,
    until_at      timestamptz NOT NULL,
    swept_at      timestamptz NOT NULL,
    sweep_wait_ms bigint      NOT NULL DEFAULT 0
) WITH (fillfactor = 70);

-- Spans of loops whose results must be marked again, because maintenance that covers them
-- was changed afterwards.
CREATE TABLE IF NOT EXISTS result_reclassifications (
    check_id uuid        NOT NULL REFERENCES checks ON DELETE CASCADE,
    region   text        NOT NULL,
    from_at  timestamptz NOT NULL,
    to_at    timestamptz NOT NULL,
    due_at   timestamptz NOT NULL,
    PRIMARY KEY (check_id, region, from_at)
);
CREATE INDEX IF NOT EXISTS result_reclassifications_due_idx ON result_reclassifications (due_at);
