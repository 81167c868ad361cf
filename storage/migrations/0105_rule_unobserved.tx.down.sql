DROP INDEX IF EXISTS alert_rules_unobserved_idx;
ALTER TABLE alert_rules DROP COLUMN IF EXISTS unobserved;
