-- The channels that were notified that a check is not probed, and not yet of the end. id is that of
-- the time without results; rows that began together share it, and it stands in the place of
-- the incident in the deliveries. No reference to checks and channels: the end of a check that was
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
-- These deliveries have no incident with which they are deleted.
CREATE INDEX IF NOT EXISTS deliveries_unobserved_idx ON deliveries (check_id, finished_at)
    WHERE event_type IN ('check.unobserved', 'check.observed');
