-- SPDX-License-Identifier: Apache-2.0

-- Places that agents probe from. key is what checks name in their regions: loc-<slug> for a location
-- of an organization, and the key of a public region where org_id is NULL. An agent is known by the
-- hash of its location's token (SHA-256). silent_since is since when no agent reports, as far as an
-- event has said so.
CREATE TABLE IF NOT EXISTS locations (
    id           uuid        PRIMARY KEY,
    org_id       uuid        REFERENCES organizations ON DELETE CASCADE,
    key          text        NOT NULL,
    name         text        NOT NULL,
    labels       jsonb       NOT NULL DEFAULT '{}',
    token_hash   bytea       NOT NULL,
    token_prefix text        NOT NULL,
    version      bigint      NOT NULL DEFAULT 1,
    created_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    rotated_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    seen_at      timestamptz,
    silent_since timestamptz
);
CREATE UNIQUE INDEX IF NOT EXISTS locations_key_idx ON locations (org_id, key) NULLS NOT DISTINCT;
CREATE UNIQUE INDEX IF NOT EXISTS locations_token_idx ON locations (token_hash);
CREATE INDEX IF NOT EXISTS locations_newest_idx ON locations (org_id, created_at DESC, id DESC);

-- Agents: a row for each start of the program. public_key is that to which configs are sealed. One that
-- has not reported yet probes nothing.
CREATE TABLE IF NOT EXISTS agents (
    id            uuid        PRIMARY KEY,
    location_id   uuid        NOT NULL REFERENCES locations ON DELETE CASCADE,
    instance      uuid        NOT NULL,
    name          text        NOT NULL,
    version       text        NOT NULL,
    public_key    bytea       NOT NULL,
    types         text[]      NOT NULL,
    started_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
    seen_at       timestamptz NOT NULL DEFAULT clock_timestamp(),
    reported      boolean     NOT NULL DEFAULT false,
    leaving       boolean     NOT NULL DEFAULT false,
    blind         boolean     NOT NULL DEFAULT false,
    clock_ms      bigint      NOT NULL DEFAULT 0,
    checks        bigint      NOT NULL DEFAULT 0,
    spool_results bigint      NOT NULL DEFAULT 0,
    spool_bytes   bigint      NOT NULL DEFAULT 0,
    spool_dropped bigint      NOT NULL DEFAULT 0,
    refused       bigint      NOT NULL DEFAULT 0
) WITH (fillfactor = 50);
CREATE UNIQUE INDEX IF NOT EXISTS agents_instance_idx ON agents (location_id, instance);

-- What agents have sent and no turn has stored yet. observation is as it came. received_xid is read as
-- changed_xid of checks. No reference to checks: what a deleted check leaves is deleted with the old.
CREATE TABLE IF NOT EXISTS agent_results (
    id           bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    check_id     uuid        NOT NULL,
    region       text        NOT NULL,
    slot         timestamptz NOT NULL,
    time         timestamptz NOT NULL,
    revision     bigint      NOT NULL,
    observation  jsonb       NOT NULL,
    received_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
    received_xid xid8        NOT NULL DEFAULT pg_current_xact_id()
);
CREATE UNIQUE INDEX IF NOT EXISTS agent_results_slot_idx ON agent_results (check_id, region, slot);
CREATE INDEX IF NOT EXISTS agent_results_xid_idx ON agent_results (received_xid);

-- Probes that somebody waits for. An agent takes one and answers it; the row goes when its caller has the answer, or leaves.
CREATE TABLE IF NOT EXISTS agent_tasks (
    id          uuid        PRIMARY KEY,
    location_id uuid        NOT NULL REFERENCES locations ON DELETE CASCADE,
    check_id    uuid        NOT NULL,
    revision    bigint      NOT NULL,
    once        boolean     NOT NULL,
    deadline    timestamptz NOT NULL,
    created_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
    taken_by    uuid,
    answer      jsonb
);
CREATE INDEX IF NOT EXISTS agent_tasks_location_idx ON agent_tasks (location_id) WHERE taken_by IS NULL;

-- The region that a worker serves to run a loop: that of the loop, or one for all locations.
ALTER TABLE check_regions ADD COLUMN IF NOT EXISTS worker_region text NOT NULL
    GENERATED ALWAYS AS (CASE WHEN region LIKE 'loc-%' THEN 'locations' ELSE region END) STORED;
CREATE INDEX IF NOT EXISTS check_regions_worker_region_idx ON check_regions (worker_region);

-- Results that came long after their slots: they fill them, and no vote follows from them.
ALTER TABLE results ADD COLUMN IF NOT EXISTS late boolean NOT NULL DEFAULT false;

-- Spans of slots that late results have filled, and that are to be looked through for incidents which
-- would have been. changed_at says whether more have come since.
CREATE TABLE IF NOT EXISTS late_spans (
    check_id   uuid        NOT NULL,
    region     text        NOT NULL,
    from_slot  timestamptz NOT NULL,
    to_slot    timestamptz NOT NULL,
    changed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (check_id, region)
);
CREATE INDEX IF NOT EXISTS late_spans_changed_idx ON late_spans (changed_at);

-- Incidents that would have been: a rule fires in results that came too late to open one. regions are
-- those in which it does.
CREATE TABLE IF NOT EXISTS late_incidents (
    check_id   uuid        NOT NULL REFERENCES checks ON DELETE CASCADE,
    rule_id    uuid        NOT NULL,
    rule_name  text        NOT NULL,
    started_at timestamptz NOT NULL,
    ended_at   timestamptz,
    regions    text[]      NOT NULL,
    found_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (check_id, rule_id, started_at)
);
CREATE INDEX IF NOT EXISTS late_incidents_newest_idx ON late_incidents (check_id, started_at DESC);
