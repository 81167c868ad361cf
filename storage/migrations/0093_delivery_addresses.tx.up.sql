-- Where the attempts of an opening went, for channels whose recovery must go there too:
-- the sealed config of the channel, once for each address. When the incident ends, each
-- row belongs to a delivery of the recovery, and address numbers these.
CREATE TABLE IF NOT EXISTS delivery_addresses (
    id          uuid        PRIMARY KEY,
    delivery_id uuid        NOT NULL REFERENCES deliveries ON DELETE CASCADE,
    channel_id  uuid        NOT NULL REFERENCES channels ON DELETE CASCADE,
    type        text        NOT NULL,
    config      jsonb       NOT NULL,
    created_at  timestamptz NOT NULL
);
CREATE INDEX IF NOT EXISTS delivery_addresses_delivery_idx ON delivery_addresses (delivery_id);
CREATE INDEX IF NOT EXISTS delivery_addresses_channel_idx ON delivery_addresses (channel_id);
CREATE INDEX IF NOT EXISTS delivery_addresses_created_idx ON delivery_addresses (created_at);
ALTER TABLE deliveries ADD COLUMN IF NOT EXISTS address integer NOT NULL DEFAULT 0;
DROP INDEX IF EXISTS deliveries_event_key;
CREATE UNIQUE INDEX IF NOT EXISTS deliveries_event_key ON deliveries (event_id, channel_id, address);
