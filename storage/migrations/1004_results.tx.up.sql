-- SPDX-License-Identifier: Apache-2.0

-- One row for each check, region and slot. No reference to checks: the writer holds the lock of
-- the loop's row, and what a deleted check leaves is deleted in small steps, since one statement
-- that cascades to a year of rows would hold its locks for seconds. The same holds for the other
-- tables here. excluded is 1 for a result in maintenance, which uptime leaves out. evidence is what
-- a failed probe saw of its target; NULL for most. Large evidence rests outside of the row, so that
-- readers that do not name the column do not read it.
CREATE TABLE IF NOT EXISTS results (
    check_id         uuid             NOT NULL,
    region           text             NOT NULL,
    slot             timestamptz      NOT NULL,
    id               uuid             NOT NULL,
    time             timestamptz      NOT NULL,
    manual           boolean          NOT NULL,
    success          boolean          NOT NULL,
    response_time_ms double precision NOT NULL,
    status_code      integer,
    error_message    text,
    metadata         jsonb,
    excluded         smallint         NOT NULL DEFAULT 0,
    evidence         jsonb,
    PRIMARY KEY (check_id, region, slot)
) PARTITION BY RANGE (slot);
CREATE INDEX IF NOT EXISTS results_newest_idx ON results (check_id, time DESC, id DESC);

-- Takes what no day's partition takes, so that an insert never fails for want of one.
CREATE TABLE IF NOT EXISTS results_default PARTITION OF results DEFAULT;

-- Results of an hour, by slot. buckets and counts are a histogram of the response times of the
-- successful ones: counts[i] results lie in the logarithmic bucket buckets[i]; see rollup.go for
-- its borders and error. excluded counts the results in maintenance, which are in no other sum of
-- the row, and excluded_successes the successful ones of them. seen is what the results of the hour
-- say of a certificate (1) and of DNS records (2), as bits: a state that is rebuilt looks for the
-- newest of them in one hour and not in all results.
CREATE TABLE IF NOT EXISTS result_rollups (
    check_id           uuid             NOT NULL,
    region             text             NOT NULL,
    hour               timestamptz      NOT NULL,
    total              bigint           NOT NULL,
    successes          bigint           NOT NULL,
    sum_ms             double precision NOT NULL,
    buckets            smallint[]       NOT NULL,
    counts             integer[]        NOT NULL,
    excluded           bigint           NOT NULL DEFAULT 0,
    excluded_successes bigint           NOT NULL DEFAULT 0,
    seen               smallint         NOT NULL DEFAULT 0,
    PRIMARY KEY (check_id, region, hour)
) WITH (fillfactor = 70);
CREATE INDEX IF NOT EXISTS result_rollups_hour_idx ON result_rollups USING brin (hour);

-- Slots that passed without a result: count of them, step_ms apart, from first_slot to last_slot.
-- No slot lies in two gaps. They are stored in the order of time, for which a BRIN index is small
-- and does not move with an update.
CREATE TABLE IF NOT EXISTS result_gaps (
    check_id   uuid        NOT NULL,
    region     text        NOT NULL,
    first_slot timestamptz NOT NULL,
    last_slot  timestamptz NOT NULL,
    step_ms    bigint      NOT NULL CHECK (step_ms > 0),
    count      bigint      NOT NULL CHECK (count > 0),
    PRIMARY KEY (check_id, region, first_slot)
);
CREATE INDEX IF NOT EXISTS result_gaps_last_idx ON result_gaps USING brin (last_slot);

-- Results that are stored while another transaction has the row of their loop, or its rollups:
-- these do not count them yet. The next transaction that has the row does, and deletes them here.
CREATE TABLE IF NOT EXISTS uncounted_results (
    check_id      uuid        NOT NULL,
    region        text        NOT NULL,
    slot          timestamptz NOT NULL,
    worker        text        NOT NULL,
    owned         boolean     NOT NULL,
    deadline_ms   bigint      NOT NULL,
    turn_slots    integer     NOT NULL,
    turn_run      uuid,
    turn_activity text,
    turn_ends     timestamptz,
    PRIMARY KEY (check_id, region, slot)
);

-- Spans of loops whose results must be marked again, because maintenance that covers them was
-- changed afterwards.
CREATE TABLE IF NOT EXISTS result_reclassifications (
    check_id uuid        NOT NULL REFERENCES checks ON DELETE CASCADE,
    region   text        NOT NULL,
    from_at  timestamptz NOT NULL,
    to_at    timestamptz NOT NULL,
    due_at   timestamptz NOT NULL,
    PRIMARY KEY (check_id, region, from_at)
);
CREATE INDEX IF NOT EXISTS result_reclassifications_due_idx ON result_reclassifications (due_at);
