DELETE FROM deliveries AS d WHERE NOT EXISTS (SELECT FROM incidents AS i WHERE i.id = d.incident_id);
DROP INDEX IF EXISTS deliveries_orphaned_idx;
ALTER TABLE deliveries DROP COLUMN IF EXISTS orphaned;
ALTER TABLE deliveries DROP COLUMN IF EXISTS trace_id;
ALTER TABLE deliveries DROP CONSTRAINT IF EXISTS deliveries_incident_id_fkey,
    ADD CONSTRAINT deliveries_incident_id_fkey FOREIGN KEY (incident_id) REFERENCES incidents ON DELETE CASCADE;
