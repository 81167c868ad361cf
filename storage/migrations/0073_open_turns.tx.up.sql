-- The turn that goes on after the newest result of a loop: the run of its workflow, its
-- activity, and when Temporal gives it up. Another worker completes it when its own dies.
ALTER TABLE check_regions
    ADD COLUMN IF NOT EXISTS turn_run uuid,
    ADD COLUMN IF NOT EXISTS turn_activity text,
    ADD COLUMN IF NOT EXISTS turn_ends timestamptz;
