-- The revision of the check at which the loop had to end; null when the check
-- itself is gone, or when it is not known: then no loop may run.
ALTER TABLE loop_tombstones ADD COLUMN IF NOT EXISTS revision bigint;
