-- Labels that users give, and what lists are filtered and sorted by.
ALTER TABLE checks
    ADD COLUMN IF NOT EXISTS labels jsonb NOT NULL DEFAULT '{}',
    -- What a search looks in. The line break keeps a match within one of the two.
    ADD COLUMN IF NOT EXISTS search text GENERATED ALWAYS AS (lower(name || E'\n' || target)) STORED;
ALTER TABLE channels ADD COLUMN IF NOT EXISTS labels jsonb NOT NULL DEFAULT '{}';
ALTER TABLE alert_rules ADD COLUMN IF NOT EXISTS labels jsonb NOT NULL DEFAULT '{}';

CREATE INDEX IF NOT EXISTS checks_labels_idx ON checks USING gin (labels);
CREATE INDEX IF NOT EXISTS checks_name_idx ON checks (org_id, (lower(name) COLLATE "C"), id);
CREATE INDEX IF NOT EXISTS checks_updated_idx ON checks (org_id, updated_at DESC, id DESC);
CREATE INDEX IF NOT EXISTS checks_disabled_idx ON checks (org_id, created_at DESC, id DESC) WHERE NOT enabled;

-- Health moves in no index while it stays the same, so results still update their loop
-- within its page; most loops are healthy and not in this index.
CREATE INDEX IF NOT EXISTS check_regions_health_idx ON check_regions (org_id, check_id) WHERE health <> 'healthy';

CREATE INDEX IF NOT EXISTS alert_rules_newest_idx ON alert_rules (org_id, created_at DESC, id DESC);
CREATE INDEX IF NOT EXISTS alert_rules_channels_idx ON alert_rules USING gin (channel_ids);
DROP INDEX IF EXISTS alert_rules_org_idx;
