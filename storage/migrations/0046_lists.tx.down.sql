CREATE INDEX IF NOT EXISTS alert_rules_org_idx ON alert_rules (org_id);
DROP INDEX IF EXISTS alert_rules_channels_idx, alert_rules_newest_idx, check_regions_health_idx,
    checks_disabled_idx, checks_updated_idx, checks_name_idx, checks_labels_idx;
ALTER TABLE alert_rules DROP COLUMN IF EXISTS labels;
ALTER TABLE channels DROP COLUMN IF EXISTS labels;
ALTER TABLE checks DROP COLUMN IF EXISTS search, DROP COLUMN IF EXISTS labels;
