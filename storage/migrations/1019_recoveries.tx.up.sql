-- SPDX-License-Identifier: Apache-2.0

-- What was not delivered to a channel and is sent again on request, by a workflow whose id has that
-- of the row. A channel has at most one that runs. stepped_at is when its workflow worked on it last.
CREATE TABLE IF NOT EXISTS recoveries (
    id          uuid        PRIMARY KEY,
    org_id      uuid        NOT NULL REFERENCES organizations ON DELETE CASCADE,
    channel_id  uuid        NOT NULL REFERENCES channels ON DELETE CASCADE,
    state       text        NOT NULL CHECK (state IN ('running', 'done', 'canceled')),
    since       timestamptz NOT NULL,
    until       timestamptz NOT NULL,
    statuses    jsonb       NOT NULL,
    event_types jsonb       NOT NULL,
    total       integer     NOT NULL,
    sent        integer     NOT NULL DEFAULT 0,
    skipped     integer     NOT NULL DEFAULT 0,
    failed      integer     NOT NULL DEFAULT 0,
    started_at  timestamptz NOT NULL,
    finished_at timestamptz,
    stepped_at  timestamptz NOT NULL,
    CHECK ((state = 'running') = (finished_at IS NULL))
);
CREATE UNIQUE INDEX IF NOT EXISTS recoveries_running_key ON recoveries (channel_id) WHERE state = 'running';
CREATE INDEX IF NOT EXISTS recoveries_stepped_idx ON recoveries (stepped_at) WHERE state = 'running';
CREATE INDEX IF NOT EXISTS recoveries_finished_idx ON recoveries (finished_at);
CREATE INDEX IF NOT EXISTS recoveries_org_idx ON recoveries (org_id);

-- The deliveries of a recovery, in the order in which they are sent. Those of an incident are sent
-- one after another. attempts is how many the delivery had when another one was requested, and
-- requests how often that was.
CREATE TABLE IF NOT EXISTS recovery_items (
    recovery_id uuid    NOT NULL REFERENCES recoveries ON DELETE CASCADE,
    position    integer NOT NULL,
    delivery_id uuid    NOT NULL,
    incident_id uuid    NOT NULL,
    state       text    NOT NULL CHECK (state IN ('waiting', 'requested', 'sent', 'skipped', 'failed')),
    attempts    integer NOT NULL DEFAULT 0,
    requests    integer NOT NULL DEFAULT 0,
    PRIMARY KEY (recovery_id, position)
);
CREATE INDEX IF NOT EXISTS recovery_items_open_idx ON recovery_items (recovery_id, state, position) WHERE state IN ('waiting', 'requested');
CREATE INDEX IF NOT EXISTS recovery_items_incident_idx ON recovery_items (recovery_id, incident_id, position);
