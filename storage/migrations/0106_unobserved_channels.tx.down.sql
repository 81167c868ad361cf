DROP INDEX IF EXISTS deliveries_unobserved_idx;
DELETE FROM deliveries WHERE event_type IN ('check.unobserved', 'check.observed');
DROP TABLE IF EXISTS unobserved_channels;
