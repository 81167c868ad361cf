DROP TABLE IF EXISTS delivery_addresses;
DELETE FROM deliveries WHERE address > 0;
DROP INDEX IF EXISTS deliveries_event_key;
ALTER TABLE deliveries DROP COLUMN IF EXISTS address;
CREATE UNIQUE INDEX IF NOT EXISTS deliveries_event_key ON deliveries (event_id, channel_id);
