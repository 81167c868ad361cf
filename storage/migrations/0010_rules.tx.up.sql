-- channel_ids has no reference to channels: deleting one takes it out of the
-- rules in the same transaction.
CREATE TABLE IF NOT EXISTS alert_rules (
    id            uuid        PRIMARY KEY,
    org_id        uuid        NOT NULL REFERENCES organizations ON DELETE CASCADE,
    check_id      uuid        NOT NULL REFERENCES checks ON DELETE CASCADE,
    name          text        NOT NULL,
    condition     jsonb       NOT NULL,
    channel_ids   uuid[]      NOT NULL CHECK (cardinality(channel_ids) > 0),
    notify_on     text        NOT NULL CHECK (notify_on IN ('unhealthy', 'healthy', 'both')),
    region_policy text        NOT NULL CHECK (region_policy IN ('any', 'majority', 'all')),
    enabled       boolean     NOT NULL,
    created_at    timestamptz NOT NULL,
    updated_at    timestamptz NOT NULL
);
CREATE INDEX IF NOT EXISTS alert_rules_check_idx ON alert_rules (check_id, created_at DESC, id DESC);
CREATE INDEX IF NOT EXISTS alert_rules_org_idx ON alert_rules (org_id);

-- What a region says of its check: the rules that fire there, as of a slot.
-- silent is set by the sweep when the region is so late that it has no vote.
CREATE TABLE IF NOT EXISTS region_votes (
    check_id uuid        NOT NULL,
    region   text        NOT NULL,
    revision bigint      NOT NULL,
    slot     timestamptz NOT NULL,
    failures integer     NOT NULL,
    firing   uuid[]      NOT NULL,
    silent   boolean     NOT NULL DEFAULT false,
    PRIMARY KEY (check_id, region),
    FOREIGN KEY (check_id, region) REFERENCES check_regions ON DELETE CASCADE
) WITH (fillfactor = 70);

-- Every change of a vote, for the timelines of incidents.
CREATE TABLE IF NOT EXISTS region_edges (
    check_id uuid        NOT NULL REFERENCES checks ON DELETE CASCADE,
    slot     timestamptz NOT NULL,
    region   text        NOT NULL,
    revision bigint      NOT NULL,
    failures integer     NOT NULL,
    firing   uuid[]      NOT NULL,
    PRIMARY KEY (check_id, slot, region, revision)
);
CREATE INDEX IF NOT EXISTS region_edges_slot_idx ON region_edges USING brin (slot);
