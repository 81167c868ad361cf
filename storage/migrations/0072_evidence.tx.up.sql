-- What a failed probe saw of its target, of the few results that keep it; NULL for all others,
-- which then need no more space. Large evidence rests outside of the row, so that readers that
-- do not name the column do not read it. Without a default no partition is rewritten.
ALTER TABLE results ADD COLUMN IF NOT EXISTS evidence jsonb;
-- Whether failed results of the check keep evidence.
ALTER TABLE checks ADD COLUMN IF NOT EXISTS evidence boolean NOT NULL DEFAULT true;
