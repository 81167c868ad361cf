CREATE INDEX IF NOT EXISTS checks_changed_idx ON checks (changed_at);
ALTER TABLE loop_tombstones DROP COLUMN IF EXISTS created_xid;
ALTER TABLE checks DROP COLUMN IF EXISTS changed_xid;
