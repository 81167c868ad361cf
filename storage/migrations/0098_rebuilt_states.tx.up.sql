-- What the results of the hour say of a certificate (1) and of DNS records (2), as bits: a
-- state that is rebuilt looks for the newest of them in one hour and not in all results.
ALTER TABLE result_rollups
    ADD COLUMN IF NOT EXISTS seen smallint NOT NULL DEFAULT 0;

-- From when on results count for the state of the loop; NULL: from start_at. An edit of the
-- interval begins another schedule and leaves the state as it is.
ALTER TABLE check_regions
    ADD COLUMN IF NOT EXISTS state_from timestamptz;
