-- SPDX-License-Identifier: Apache-2.0

-- channel_ids has no reference to channels: deleting one takes it out of the rules in the same
-- transaction. notify_if_open: the rule notifies when it begins to fire while an incident is open.
-- unobserved is what the rule does when its check is not probed although it should be. managed_* and
-- applied_version are those of checks.
CREATE TABLE IF NOT EXISTS alert_rules (
    id              uuid        PRIMARY KEY,
    org_id          uuid        NOT NULL REFERENCES organizations ON DELETE CASCADE,
    check_id        uuid        NOT NULL REFERENCES checks ON DELETE CASCADE,
    name            text        NOT NULL,
    condition       jsonb       NOT NULL,
    channel_ids     uuid[]      NOT NULL CHECK (cardinality(channel_ids) > 0),
    notify_on       text        NOT NULL CHECK (notify_on IN ('unhealthy', 'healthy', 'both')),
    region_policy   text        NOT NULL CHECK (region_policy IN ('any', 'majority', 'all')),
    enabled         boolean     NOT NULL,
    created_at      timestamptz NOT NULL,
    updated_at      timestamptz NOT NULL,
    labels          jsonb       NOT NULL DEFAULT '{}',
    version         bigint      NOT NULL DEFAULT 1,
    managed_tool    text,
    managed_project text,
    managed_key     text,
    applied_version bigint      NOT NULL DEFAULT 0,
    notify_if_open  boolean     NOT NULL DEFAULT false,
    unobserved      text        NOT NULL DEFAULT 'ignore' CHECK (unobserved IN ('ignore', 'notify'))
);
CREATE INDEX IF NOT EXISTS alert_rules_check_idx ON alert_rules (check_id, created_at DESC, id DESC);
CREATE INDEX IF NOT EXISTS alert_rules_newest_idx ON alert_rules (org_id, created_at DESC, id DESC);
CREATE INDEX IF NOT EXISTS alert_rules_channels_idx ON alert_rules USING gin (channel_ids);
CREATE INDEX IF NOT EXISTS alert_rules_unobserved_idx ON alert_rules (check_id) WHERE unobserved = 'notify';
CREATE UNIQUE INDEX IF NOT EXISTS alert_rules_managed_key ON alert_rules (org_id, managed_tool, managed_project, managed_key)
    WHERE managed_tool IS NOT NULL;

-- What a region says of its check: the rules that fire there, as of a slot. silent is set by the
-- sweep when the region is so late that it has no vote. swept_at is when the vote was reported, or
-- last reported again because it had no effect, and sweep_wait_ms how long to wait before the next
-- time. matches is what made the rules fire, with the slot that it is about; NULL when none does.
-- No reference to check_regions: the first vote of a region is stored while another transaction has
-- the row of its loop, and a foreign key would wait for that one. What removes a loop removes its vote.
CREATE TABLE IF NOT EXISTS region_votes (
    check_id      uuid        NOT NULL,
    region        text        NOT NULL,
    revision      bigint      NOT NULL,
    slot          timestamptz NOT NULL,
    failures      integer     NOT NULL,
    firing        uuid[]      NOT NULL,
    silent        boolean     NOT NULL DEFAULT false,
    swept_at      timestamptz NOT NULL DEFAULT now(),
    sweep_wait_ms bigint      NOT NULL DEFAULT 0,
    matches       jsonb,
    PRIMARY KEY (check_id, region)
) WITH (fillfactor = 70);
CREATE INDEX IF NOT EXISTS region_votes_sweep_idx ON region_votes (swept_at) WHERE firing <> '{}';

-- Every change of a vote, for the timelines of incidents. What a deleted check leaves is deleted in
-- small steps, as that of results.
CREATE TABLE IF NOT EXISTS region_edges (
    check_id uuid        NOT NULL,
    slot     timestamptz NOT NULL,
    region   text        NOT NULL,
    revision bigint      NOT NULL,
    failures integer     NOT NULL,
    firing   uuid[]      NOT NULL,
    PRIMARY KEY (check_id, slot, region, revision)
);
CREATE INDEX IF NOT EXISTS region_edges_slot_idx ON region_edges USING brin (slot);
