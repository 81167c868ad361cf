-- Which build of the program has a lease: the version of its Worker Deployment, empty for
-- an unversioned worker. granted_at is since when the worker serves the region.
ALTER TABLE worker_leases
    ADD COLUMN IF NOT EXISTS build text NOT NULL DEFAULT '',
    ADD COLUMN IF NOT EXISTS granted_at timestamptz NOT NULL DEFAULT clock_timestamp();
-- adoption names the statement that made a loop that of another worker, until its next result:
-- a worker that did not get the answer asks for it again. A nudge that failed is repeated
-- after nudge_after.
ALTER TABLE check_regions
    ADD COLUMN IF NOT EXISTS adoption uuid,
    ADD COLUMN IF NOT EXISTS nudge_after timestamptz;
