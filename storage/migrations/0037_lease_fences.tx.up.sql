-- The fence of a lease is a new number whenever a worker gets the lease, and stays the
-- same while it is renewed. A revoked lease gets a new fence with its next renewal, so
-- the worker knows that its loops were given to others.
CREATE SEQUENCE IF NOT EXISTS worker_lease_fences;
ALTER TABLE worker_leases
    ADD COLUMN IF NOT EXISTS fence bigint NOT NULL DEFAULT nextval('worker_lease_fences'),
    ADD COLUMN IF NOT EXISTS revoked_at timestamptz,
    -- By how much the worker's clock is ahead of the database's; negative: behind.
    ADD COLUMN IF NOT EXISTS clock_difference_ms bigint NOT NULL DEFAULT 0;
