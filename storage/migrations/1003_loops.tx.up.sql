-- SPDX-License-Identifier: Apache-2.0

-- The loop of a check in a region: desired state, its own copy of the schedule (so that one row
-- lock guards all of it) and where its results stand. Every slot of the schedule before
-- counted_until is a result or lies in a gap. generation is that of Temporal's store that
-- accepted the applied revision; an active loop of an older one must be started again, and the
-- first generation is 1. turn_slots is how many slots the turn covered whose result was stored
-- last. turn_run, turn_activity and turn_ends are the turn that goes on after that result: the run
-- of its workflow, its activity, and when Temporal gives it up; another worker completes it when
-- its own dies. state_from is from when on results count for the state of the loop, NULL: from
-- start_at; an edit of the interval begins another schedule and leaves the state as it is.
-- adoption names the statement that made a loop that of another worker, until its next result: a
-- worker that did not get the answer asks for it again. A nudge that failed is repeated after
-- nudge_after.
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
    generation     bigint      NOT NULL DEFAULT 1,
    turn_slots     integer     NOT NULL DEFAULT 0,
    turn_run       uuid,
    turn_activity  text,
    turn_ends      timestamptz,
    state_from     timestamptz,
    adoption       uuid,
    nudge_after    timestamptz,
    PRIMARY KEY (check_id, region)
) WITH (fillfactor = 70);
CREATE INDEX IF NOT EXISTS check_regions_lagging_idx ON check_regions (check_id, region) WHERE desired > applied;
CREATE INDEX IF NOT EXISTS check_regions_generation_idx ON check_regions (generation) WHERE active;
CREATE INDEX IF NOT EXISTS check_regions_worker_idx ON check_regions (worker) WHERE active;
-- A worker polls for a region that has loops.
CREATE INDEX IF NOT EXISTS check_regions_region_idx ON check_regions (region);
-- Health moves in no index while it stays the same, so results still update their loop within its
-- page; most loops are healthy and not in this index.
CREATE INDEX IF NOT EXISTS check_regions_health_idx ON check_regions (org_id, check_id) WHERE health <> 'healthy';
-- The loops by when their next result is due: the sweep reads those that are late, and lists
-- those that are not probed. Every result moves its entry.
CREATE INDEX IF NOT EXISTS check_regions_due_idx ON check_regions (next_due) WHERE active;

-- Loops that must end because their check or region is gone. No reference to checks: outliving
-- them is the point. revision is that of the check at which the loop had to end; NULL when the
-- check itself is gone, or when it is not known: then no loop may run. created_xid is read as
-- changed_xid of checks.
CREATE TABLE IF NOT EXISTS loop_tombstones (
    check_id    uuid        NOT NULL,
    region      text        NOT NULL,
    org_id      uuid        NOT NULL,
    created_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
    done_at     timestamptz,
    revision    bigint,
    created_xid xid8        NOT NULL DEFAULT pg_current_xact_id(),
    PRIMARY KEY (check_id, region)
);
CREATE INDEX IF NOT EXISTS loop_tombstones_open_idx ON loop_tombstones (created_at) WHERE done_at IS NULL;
CREATE INDEX IF NOT EXISTS loop_tombstones_done_idx ON loop_tombstones (done_at) WHERE done_at IS NOT NULL;
CREATE INDEX IF NOT EXISTS loop_tombstones_created_xid_idx ON loop_tombstones (created_xid);

-- The fence of a lease is a new number whenever a worker gets the lease, and stays the same while
-- it is renewed. A revoked lease gets a new fence with its next renewal, so the worker knows that
-- its loops were given to others.
CREATE SEQUENCE IF NOT EXISTS worker_lease_fences;

-- Which worker serves which regions: one row of a process, renewed about once a second by the
-- database's clock. A lease that is revoked is so in all of its regions.
CREATE TABLE IF NOT EXISTS worker_leases (
    worker              text        PRIMARY KEY,
    renewed_at          timestamptz NOT NULL,
    unavailable_types   text[]      NOT NULL DEFAULT '{}',    -- check types that the machine cannot run
    fence               bigint      NOT NULL DEFAULT nextval('worker_lease_fences'),
    revoked_at          timestamptz,
    clock_difference_ms bigint      NOT NULL DEFAULT 0,       -- the worker's clock is ahead; negative: behind
    lateness_ms         bigint      NOT NULL DEFAULT 0,       -- of the worker's slots, as it measures itself
    overloaded          boolean     NOT NULL DEFAULT false,   -- whether that is overload
    build               text        NOT NULL DEFAULT '',      -- version of its Worker Deployment; empty: unversioned
    granted_at          timestamptz NOT NULL DEFAULT clock_timestamp(),
    regions             text[]      NOT NULL DEFAULT '{}'
) WITH (fillfactor = 50);
