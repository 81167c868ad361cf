DROP INDEX IF EXISTS check_trials_ends_idx;
DROP INDEX IF EXISTS maintenance_windows_extended_idx;
DROP INDEX IF EXISTS maintenance_windows_deleted_idx;
DROP INDEX IF EXISTS maintenance_occurrences_removed_idx;
DROP INDEX IF EXISTS result_gaps_last_idx;
DROP INDEX IF EXISTS loop_tombstones_done_idx;
