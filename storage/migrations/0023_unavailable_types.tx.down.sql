ALTER TABLE IF EXISTS worker_leases DROP COLUMN IF EXISTS unavailable_types;
