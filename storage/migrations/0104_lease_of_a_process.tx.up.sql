-- The lease of a worker is one row for all regions that it serves: a renewal writes one
-- row a second and process. A lease that is revoked is so in all of its regions.
-- Workers renew their leases each second, so that no row is kept.
DELETE FROM worker_leases;
ALTER TABLE worker_leases DROP CONSTRAINT IF EXISTS worker_leases_pkey;
ALTER TABLE worker_leases DROP COLUMN IF EXISTS region;
ALTER TABLE worker_leases ADD COLUMN IF NOT EXISTS regions text[] NOT NULL DEFAULT '{}';
ALTER TABLE worker_leases ADD CONSTRAINT worker_leases_pkey PRIMARY KEY (worker);
