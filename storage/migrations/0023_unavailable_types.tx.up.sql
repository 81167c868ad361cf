-- The check types that the worker's machine cannot run.
ALTER TABLE worker_leases ADD COLUMN IF NOT EXISTS unavailable_types text[] NOT NULL DEFAULT '{}';
