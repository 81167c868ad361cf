-- Who waits for a place among the attempts in flight of an organization and a
-- channel, and who holds one: admitted_at is NULL while it waits. The table is small:
-- a row goes when the attempt has an outcome.
CREATE TABLE IF NOT EXISTS delivery_places (
    incident_id uuid        NOT NULL,
    channel_id  uuid        NOT NULL,
    org_id      uuid        NOT NULL,
    -- The order of arrival. It is assigned under the organization's lock.
    position    bigint      NOT NULL GENERATED ALWAYS AS IDENTITY,
    queued_at   timestamptz NOT NULL,
    admitted_at timestamptz,
    PRIMARY KEY (incident_id, channel_id)
);
CREATE INDEX IF NOT EXISTS delivery_places_waiting_idx ON delivery_places (org_id, channel_id, position) WHERE admitted_at IS NULL;
CREATE INDEX IF NOT EXISTS delivery_places_held_idx ON delivery_places (org_id, admitted_at) WHERE admitted_at IS NOT NULL;

-- Attempts that are in flight during the migration hold a place.
INSERT INTO delivery_places (incident_id, channel_id, org_id, queued_at, admitted_at)
    SELECT d.incident_id, d.channel_id, d.org_id, max(a.started_at), max(a.started_at)
    FROM attempts AS a JOIN deliveries AS d ON d.id = a.delivery_id
    WHERE a.finished_at IS NULL AND a.started_at > now() - interval '1 minute'
    GROUP BY d.incident_id, d.channel_id, d.org_id
ON CONFLICT DO NOTHING;

-- Text that a user wrote for an incident, and who wrote it. Updates and histories of
-- workflows contain its id only.
CREATE TABLE IF NOT EXISTS incident_texts (
    id          uuid        PRIMARY KEY,
    incident_id uuid        NOT NULL REFERENCES incidents ON DELETE CASCADE,
    author      text        NOT NULL,
    note        text        NOT NULL DEFAULT '',
    created_at  timestamptz NOT NULL
);
CREATE INDEX IF NOT EXISTS incident_texts_incident_idx ON incident_texts (incident_id);
