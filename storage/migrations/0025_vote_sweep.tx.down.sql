DROP INDEX IF EXISTS region_votes_sweep_idx;
ALTER TABLE IF EXISTS region_votes DROP COLUMN IF EXISTS sweep_wait_ms;
ALTER TABLE IF EXISTS region_votes DROP COLUMN IF EXISTS swept_at;
