-- A control process renews one row for all of its shards of the sweep. Its term is the time for
-- which it has renewed without a gap, and a shard names the term that it belongs to. A shard
-- whose term has ended, or that names none, is free. By renewals a renewal
-- sees that another one of the same process has overtaken it.
-- Control processes renew twice a second, so that no row of them is kept.
DELETE FROM sweep_processes;
ALTER TABLE sweep_processes
    ADD COLUMN IF NOT EXISTS term uuid NOT NULL DEFAULT gen_random_uuid(),
    ADD COLUMN IF NOT EXISTS renewals bigint NOT NULL DEFAULT 1;
ALTER TABLE sweep_leases
    ADD COLUMN IF NOT EXISTS term uuid,
    DROP COLUMN IF EXISTS holder,
    DROP COLUMN IF EXISTS expires_at;
