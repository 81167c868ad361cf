-- changed_at is the database's clock at the last change of what a worker must
-- know; catalogues ask by it.
CREATE TABLE IF NOT EXISTS checks (
    id           uuid        PRIMARY KEY,
    org_id       uuid        NOT NULL REFERENCES organizations ON DELETE CASCADE,
    name         text        NOT NULL,
    type         text        NOT NULL,
    config       jsonb       NOT NULL,
    target       text        NOT NULL,
    interval_ms  bigint      NOT NULL CHECK (interval_ms > 0),
    regions      text[]      NOT NULL CHECK (cardinality(regions) > 0),
    enabled      boolean     NOT NULL,
    simultaneous boolean     NOT NULL,
    anchor       timestamptz NOT NULL,
    revision     bigint      NOT NULL,
    expires_at   timestamptz,
    created_at   timestamptz NOT NULL,
    updated_at   timestamptz NOT NULL,
    changed_at   timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX IF NOT EXISTS checks_newest_idx ON checks (org_id, created_at DESC, id DESC);
CREATE INDEX IF NOT EXISTS checks_changed_idx ON checks (changed_at);
CREATE INDEX IF NOT EXISTS checks_expiry_idx ON checks (expires_at) WHERE expires_at IS NOT NULL;

-- The loop of a check in a region: desired state, its own copy of the schedule
-- (so that one row lock guards all of it) and where its results stand. Every
-- slot of the schedule before counted_until is a result or lies in a gap.
CREATE TABLE IF NOT EXISTS check_regions (
    check_id       uuid        NOT NULL REFERENCES checks ON DELETE CASCADE,
    region         text        NOT NULL,
    org_id         uuid        NOT NULL,
    desired        bigint      NOT NULL,
    applied        bigint      NOT NULL DEFAULT 0,
    active         boolean     NOT NULL,
    start_at       timestamptz NOT NULL,
    anchor         timestamptz NOT NULL,
    interval_ms    bigint      NOT NULL CHECK (interval_ms > 0),
    offset_ms      bigint      NOT NULL DEFAULT 0,
    counted_until  timestamptz NOT NULL,
    last_slot      timestamptz,
    last_time      timestamptz,
    last_scheduled timestamptz,
    next_due       timestamptz,
    deadline_ms    bigint      NOT NULL DEFAULT 60000,
    health         text        NOT NULL DEFAULT 'unknown' CHECK (health IN ('healthy', 'unhealthy', 'unknown')),
    missed         bigint      NOT NULL DEFAULT 0,
    worker         text        NOT NULL DEFAULT '',
    nudged_at      timestamptz,
    nudge_wait_ms  bigint      NOT NULL DEFAULT 0,
    PRIMARY KEY (check_id, region)
) WITH (fillfactor = 70);
CREATE INDEX IF NOT EXISTS check_regions_lagging_idx ON check_regions (check_id, region) WHERE desired > applied;
CREATE INDEX IF NOT EXISTS check_regions_worker_idx ON check_regions (worker) WHERE active;

-- Loops that must end because their check or region is gone. No reference to
-- checks: outliving them is the point.
CREATE TABLE IF NOT EXISTS loop_tombstones (
    check_id   uuid        NOT NULL,
    region     text        NOT NULL,
    org_id     uuid        NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    done_at    timestamptz,
    PRIMARY KEY (check_id, region)
);
CREATE INDEX IF NOT EXISTS loop_tombstones_created_idx ON loop_tombstones (created_at);
CREATE INDEX IF NOT EXISTS loop_tombstones_open_idx ON loop_tombstones (created_at) WHERE done_at IS NULL;

-- Creations of the last hour, deleted checks included, for the allowance.
CREATE TABLE IF NOT EXISTS check_creations (
    org_id uuid        NOT NULL REFERENCES organizations ON DELETE CASCADE,
    at     timestamptz NOT NULL
);
CREATE INDEX IF NOT EXISTS check_creations_idx ON check_creations (org_id, at);
