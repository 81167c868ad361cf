-- What housekeeping looks for again and again, so that it reads the rows that are due and not
-- whole tables. Gaps are stored in the order of time, for which a BRIN
-- index is small and does not move with an update.
CREATE INDEX IF NOT EXISTS loop_tombstones_done_idx ON loop_tombstones (done_at) WHERE done_at IS NOT NULL;
CREATE INDEX IF NOT EXISTS result_gaps_last_idx ON result_gaps USING brin (last_slot);
CREATE INDEX IF NOT EXISTS maintenance_occurrences_removed_idx ON maintenance_occurrences (removed_at) WHERE removed_at IS NOT NULL;
CREATE INDEX IF NOT EXISTS maintenance_windows_deleted_idx ON maintenance_windows (deleted_at) WHERE deleted_at IS NOT NULL;
CREATE INDEX IF NOT EXISTS maintenance_windows_extended_idx ON maintenance_windows (extended_at)
    WHERE enabled AND deleted_at IS NULL AND (rrule <> '' OR cron <> '');
CREATE INDEX IF NOT EXISTS check_trials_ends_idx ON check_trials (ends);

-- The first vote of a region is stored while another transaction has the row of its loop: to
-- look whether that exists, a foreign key would wait for the transaction, and the loop does not
-- probe until its vote is stored. What removes a loop removes its vote.
ALTER TABLE region_votes DROP CONSTRAINT IF EXISTS region_votes_check_id_region_fkey;
