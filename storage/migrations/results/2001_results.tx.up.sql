-- SPDX-License-Identifier: Apache-2.0

-- The results of some regions or of all, in a database of their own. The tables are those of the same
-- names in the database of the definitions, where what they hold is explained.
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
    late             boolean          NOT NULL DEFAULT false,
    PRIMARY KEY (check_id, region, slot)
) PARTITION BY RANGE (slot);
CREATE INDEX IF NOT EXISTS results_newest_idx ON results (check_id, time DESC, id DESC);
CREATE TABLE IF NOT EXISTS results_default PARTITION OF results DEFAULT;

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

-- Results that the row of their loop, which is in the database of the definitions, may not know yet.
-- They are stored and counted in rollups first; the loop follows in a transaction of its own, and then
-- the row here goes. One that stays is of a process that ended in between, or of a loop that was locked:
-- the worker that has the loop next counts it there.
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
    stored_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (check_id, region, slot)
);
