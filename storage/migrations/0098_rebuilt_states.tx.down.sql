ALTER TABLE check_regions
    DROP COLUMN IF EXISTS state_from;

ALTER TABLE result_rollups
    DROP COLUMN IF EXISTS seen;
