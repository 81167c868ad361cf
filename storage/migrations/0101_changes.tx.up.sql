-- The transaction that changed what a worker must know. Catalogues ask for what was not visible
-- in the snapshot that they read last, so each change is read once, however late it commits.
ALTER TABLE checks ADD COLUMN IF NOT EXISTS changed_xid xid8 NOT NULL DEFAULT pg_current_xact_id();
CREATE INDEX IF NOT EXISTS checks_changed_xid_idx ON checks (changed_xid, id);
ALTER TABLE loop_tombstones ADD COLUMN IF NOT EXISTS created_xid xid8 NOT NULL DEFAULT pg_current_xact_id();
CREATE INDEX IF NOT EXISTS loop_tombstones_created_xid_idx ON loop_tombstones (created_xid);
DROP INDEX IF EXISTS checks_changed_idx;
