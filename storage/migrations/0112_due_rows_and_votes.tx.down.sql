DELETE FROM region_votes AS v WHERE NOT EXISTS (SELECT FROM check_regions AS r WHERE r.check_id = v.check_id AND r.region = v.region);
ALTER TABLE region_votes ADD CONSTRAINT region_votes_check_id_region_fkey
    FOREIGN KEY (check_id, region) REFERENCES check_regions ON DELETE CASCADE;
DROP INDEX IF EXISTS check_trials_ends_idx;
DROP INDEX IF EXISTS maintenance_windows_extended_idx;
DROP INDEX IF EXISTS maintenance_windows_deleted_idx;
DROP INDEX IF EXISTS maintenance_occurrences_removed_idx;
DROP INDEX IF EXISTS result_gaps_last_idx;
DROP INDEX IF EXISTS loop_tombstones_done_idx;
