-- What a deleted check leaves is deleted in small steps: one statement that cascades
-- to a year of rows would hold its locks for seconds. The rows are written under the
-- lock of the check or of its loops, so none appears after the check is gone.
ALTER TABLE result_rollups DROP CONSTRAINT IF EXISTS result_rollups_check_id_fkey;
ALTER TABLE result_gaps DROP CONSTRAINT IF EXISTS result_gaps_check_id_fkey;
ALTER TABLE region_edges DROP CONSTRAINT IF EXISTS region_edges_check_id_fkey;
ALTER TABLE incidents DROP CONSTRAINT IF EXISTS incidents_check_id_fkey;
