DELETE FROM worker_leases;
ALTER TABLE worker_leases DROP CONSTRAINT IF EXISTS worker_leases_pkey;
ALTER TABLE worker_leases DROP COLUMN IF EXISTS regions;
ALTER TABLE worker_leases ADD COLUMN IF NOT EXISTS region text NOT NULL;
ALTER TABLE worker_leases ADD CONSTRAINT worker_leases_pkey PRIMARY KEY (worker, region);
