-- How late the worker's slots are, as it measures itself, and whether that is overload.
ALTER TABLE worker_leases ADD COLUMN IF NOT EXISTS lateness_ms bigint NOT NULL DEFAULT 0;
ALTER TABLE worker_leases ADD COLUMN IF NOT EXISTS overloaded boolean NOT NULL DEFAULT false;

-- Tests by hand that run now. Unlogged: a row is worth nothing after its end.
CREATE UNLOGGED TABLE IF NOT EXISTS running_tests (
    org_id uuid        NOT NULL,
    id     uuid        NOT NULL,
    ends   timestamptz NOT NULL,
    PRIMARY KEY (org_id, id)
);
