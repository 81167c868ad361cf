ALTER TABLE IF EXISTS check_regions
    DROP COLUMN IF EXISTS turn_run,
    DROP COLUMN IF EXISTS turn_activity,
    DROP COLUMN IF EXISTS turn_ends;
