-- SPDX-License-Identifier: Apache-2.0

-- audience is whom the incident notifies, frozen when it opens. quiet are the regions in which
-- nothing has fired since the latch was set. rules are those that fired in the incident,
-- latch_rules those that its latch holds. What a deleted check leaves is deleted in small steps, as
-- that of results.
CREATE TABLE IF NOT EXISTS incidents (
    id              uuid        PRIMARY KEY,
    org_id          uuid        NOT NULL REFERENCES organizations ON DELETE CASCADE,
    check_id        uuid        NOT NULL,
    rule_id         uuid        NOT NULL,
    status          text        NOT NULL CHECK (status IN ('active', 'acknowledged', 'resolved')),
    severity        text        NOT NULL CHECK (severity IN ('critical', 'warning', 'info')),
    title           text        NOT NULL,
    description     text        NOT NULL,
    trigger         jsonb       NOT NULL,
    regions         text[]      NOT NULL,
    audience        jsonb       NOT NULL,
    started_at      timestamptz NOT NULL,
    acknowledged_at timestamptz,
    resolved_at     timestamptz,
    created_at      timestamptz NOT NULL,
    acknowledged_by text        NOT NULL DEFAULT '',
    resolved_by     text        NOT NULL DEFAULT '',
    resolution      text        NOT NULL DEFAULT '' CHECK (resolution IN ('', 'automatic', 'manual', 'check_removed')),
    note            text        NOT NULL DEFAULT '',
    latched         boolean     NOT NULL DEFAULT false,
    quiet           text[]      NOT NULL DEFAULT '{}',
    swept_at        timestamptz NOT NULL,
    sweep_wait_ms   bigint      NOT NULL DEFAULT 0,
    rules           jsonb       NOT NULL DEFAULT '[]',
    latch_rules     uuid[]      NOT NULL DEFAULT '{}',
    CHECK ((status = 'resolved') = (resolved_at IS NOT NULL)),
    CHECK (NOT latched OR status = 'resolved')
);
-- The second lock on "one open incident for each check"; the first is the ID of the incident's
-- workflow.
CREATE UNIQUE INDEX IF NOT EXISTS incidents_open_key ON incidents (check_id) WHERE status <> 'resolved';
CREATE UNIQUE INDEX IF NOT EXISTS incidents_latch_key ON incidents (check_id) WHERE latched;
CREATE INDEX IF NOT EXISTS incidents_newest_idx ON incidents (org_id, created_at DESC, id DESC);
CREATE INDEX IF NOT EXISTS incidents_check_idx ON incidents (check_id, created_at DESC, id DESC);
CREATE INDEX IF NOT EXISTS incidents_org_open_idx ON incidents (org_id, check_id) WHERE status <> 'resolved';
CREATE INDEX IF NOT EXISTS incidents_sweep_idx ON incidents (swept_at) WHERE status <> 'resolved' OR latched;
CREATE INDEX IF NOT EXISTS incidents_resolved_idx ON incidents (resolved_at) WHERE status = 'resolved' AND NOT latched;

-- Text that a user wrote for an incident, and who wrote it. Updates and histories of workflows
-- contain its ID only.
CREATE TABLE IF NOT EXISTS incident_texts (
    id          uuid        PRIMARY KEY,
    incident_id uuid        NOT NULL REFERENCES incidents ON DELETE CASCADE,
    author      text        NOT NULL,
    note        text        NOT NULL DEFAULT '',
    created_at  timestamptz NOT NULL
);
CREATE INDEX IF NOT EXISTS incident_texts_incident_idx ON incident_texts (incident_id);

-- What people write for the public about an incident.
CREATE TABLE IF NOT EXISTS incident_updates (
    id          uuid        PRIMARY KEY,
    org_id      uuid        NOT NULL,
    incident_id uuid        NOT NULL REFERENCES incidents ON DELETE CASCADE,
    state       text        NOT NULL CHECK (state IN ('investigating', 'identified', 'monitoring', 'resolved')),
    text        text        NOT NULL,
    author      text        NOT NULL,
    created_at  timestamptz NOT NULL
);
CREATE INDEX IF NOT EXISTS incident_updates_newest_idx ON incident_updates (incident_id, created_at DESC, id DESC);

-- The checks that are known not to be probed: their beginning is in the stream, and their end is not
-- yet. No reference to checks: the end of one that was deleted is reported as well, with what the
-- row says of it. since is the time of the newest result, or when the first one was due.
CREATE TABLE IF NOT EXISTS unobserved_checks (
    check_id   uuid        PRIMARY KEY,
    id         uuid        NOT NULL,
    org_id     uuid        NOT NULL REFERENCES organizations ON DELETE CASCADE,
    since      timestamptz NOT NULL,
    regions    text[]      NOT NULL,
    described  jsonb       NOT NULL,
    created_at timestamptz NOT NULL
);

-- The channels that were notified that a check is not probed, and not yet of the end. id is that of
-- the time without results; rows that began together share it, and it stands in the place of the
-- incident in the deliveries. No reference to checks and channels: the end of a check that was
-- deleted is sent as well.
CREATE TABLE IF NOT EXISTS unobserved_channels (
    check_id   uuid        NOT NULL,
    channel_id uuid        NOT NULL,
    id         uuid        NOT NULL,
    org_id     uuid        NOT NULL REFERENCES organizations ON DELETE CASCADE,
    since      timestamptz NOT NULL,
    regions    text[]      NOT NULL,
    partly     boolean     NOT NULL,
    described  jsonb       NOT NULL,
    recipient  jsonb       NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (check_id, channel_id)
);
CREATE INDEX IF NOT EXISTS unobserved_channels_id_idx ON unobserved_channels (id);
