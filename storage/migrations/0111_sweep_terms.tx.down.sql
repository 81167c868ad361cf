DELETE FROM sweep_processes;
ALTER TABLE sweep_leases
    DROP COLUMN IF EXISTS term,
    ADD COLUMN IF NOT EXISTS holder text NOT NULL DEFAULT '',
    ADD COLUMN IF NOT EXISTS expires_at timestamptz NOT NULL DEFAULT '-infinity';
ALTER TABLE sweep_processes
    DROP COLUMN IF EXISTS renewals,
    DROP COLUMN IF EXISTS term;
