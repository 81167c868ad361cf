CREATE INDEX IF NOT EXISTS maintenance_occurrences_changed_idx ON maintenance_occurrences (changed_at);
ALTER TABLE maintenance_occurrences DROP COLUMN IF EXISTS changed_xid;
