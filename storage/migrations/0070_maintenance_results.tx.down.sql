DROP TABLE IF EXISTS result_reclassifications;
DROP TABLE IF EXISTS maintenance_holds;
ALTER TABLE result_rollups DROP COLUMN IF EXISTS excluded_successes, DROP COLUMN IF EXISTS excluded;
ALTER TABLE results DROP COLUMN IF EXISTS excluded;
