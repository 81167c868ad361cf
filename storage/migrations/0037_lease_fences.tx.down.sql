ALTER TABLE IF EXISTS worker_leases
    DROP COLUMN IF EXISTS clock_difference_ms,
    DROP COLUMN IF EXISTS revoked_at,
    DROP COLUMN IF EXISTS fence;
DROP SEQUENCE IF EXISTS worker_lease_fences;
