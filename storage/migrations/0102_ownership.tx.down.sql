ALTER TABLE IF EXISTS check_regions
    DROP COLUMN IF EXISTS nudge_after,
    DROP COLUMN IF EXISTS adoption;
ALTER TABLE IF EXISTS worker_leases
    DROP COLUMN IF EXISTS granted_at,
    DROP COLUMN IF EXISTS build;
