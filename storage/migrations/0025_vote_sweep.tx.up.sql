-- When a vote was told, or last told again because nobody acted on it, and how
-- long to wait before the next time.
ALTER TABLE region_votes ADD COLUMN IF NOT EXISTS swept_at timestamptz NOT NULL DEFAULT now();
ALTER TABLE region_votes ADD COLUMN IF NOT EXISTS sweep_wait_ms bigint NOT NULL DEFAULT 0;
CREATE INDEX IF NOT EXISTS region_votes_sweep_idx ON region_votes (swept_at) WHERE firing <> '{}';
