-- The transaction that changed an occurrence, as changed_xid of checks: each change is read once.
ALTER TABLE maintenance_occurrences ADD COLUMN IF NOT EXISTS changed_xid xid8 NOT NULL DEFAULT pg_current_xact_id();
CREATE INDEX IF NOT EXISTS maintenance_occurrences_changed_xid_idx ON maintenance_occurrences (changed_xid);
DROP INDEX IF EXISTS maintenance_occurrences_changed_idx;
