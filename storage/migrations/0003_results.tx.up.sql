-- One row for each (check, region, slot). There is no reference to checks: the
-- writer holds the lock of the loop's row, which is all that keeps both true.
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
    PRIMARY KEY (check_id, region, slot)
) PARTITION BY RANGE (slot);
CREATE INDEX IF NOT EXISTS results_newest_idx ON results (check_id, time DESC, id DESC);

-- Takes what no day's partition takes, so that an insert never fails for want
-- of one.
CREATE TABLE IF NOT EXISTS results_default PARTITION OF results DEFAULT;

-- Results of an hour, by slot. buckets and counts are a histogram of the
-- response times of the successful ones: counts[i] results lie in the
-- logarithmic bucket buckets[i]; see rollup.go for its borders and error.
CREATE TABLE IF NOT EXISTS result_rollups (
    check_id  uuid             NOT NULL REFERENCES checks ON DELETE CASCADE,
    region    text             NOT NULL,
    hour      timestamptz      NOT NULL,
    total     bigint           NOT NULL,
    successes bigint           NOT NULL,
    sum_ms    double precision NOT NULL,
    buckets   smallint[]       NOT NULL,
    counts    integer[]        NOT NULL,
    PRIMARY KEY (check_id, region, hour)
) WITH (fillfactor = 70);
CREATE INDEX IF NOT EXISTS result_rollups_hour_idx ON result_rollups USING brin (hour);

-- Slots that passed without a result: count of them, step_ms apart, from
-- first_slot to last_slot. No slot lies in two gaps.
CREATE TABLE IF NOT EXISTS result_gaps (
    check_id   uuid        NOT NULL REFERENCES checks ON DELETE CASCADE,
    region     text        NOT NULL,
    first_slot timestamptz NOT NULL,
    last_slot  timestamptz NOT NULL,
    step_ms    bigint      NOT NULL CHECK (step_ms > 0),
    count      bigint      NOT NULL CHECK (count > 0),
    PRIMARY KEY (check_id, region, first_slot)
);
