-- The messages about the end of a deleted check's incident outlive the incident: they are
-- sent from what they and their event contain. orphaned: the incident is gone.
ALTER TABLE deliveries DROP CONSTRAINT IF EXISTS deliveries_incident_id_fkey;
ALTER TABLE deliveries ADD COLUMN IF NOT EXISTS trace_id text NOT NULL DEFAULT '';
ALTER TABLE deliveries ADD COLUMN IF NOT EXISTS orphaned boolean NOT NULL DEFAULT false;
CREATE INDEX IF NOT EXISTS deliveries_orphaned_idx ON deliveries (finished_at) WHERE orphaned;
