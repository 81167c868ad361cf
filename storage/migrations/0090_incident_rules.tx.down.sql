ALTER TABLE alert_rules
    DROP COLUMN IF EXISTS notify_if_open;
ALTER TABLE incidents
    DROP COLUMN IF EXISTS latch_rules,
    DROP COLUMN IF EXISTS rules;
