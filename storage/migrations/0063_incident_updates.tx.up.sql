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
