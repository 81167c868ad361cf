-- What a rule does when its check is not probed although it should be. A constant default
-- changes the catalogue only.
ALTER TABLE alert_rules
    ADD COLUMN IF NOT EXISTS unobserved text NOT NULL DEFAULT 'ignore' CHECK (unobserved IN ('ignore', 'notify'));
CREATE INDEX IF NOT EXISTS alert_rules_unobserved_idx ON alert_rules (check_id) WHERE unobserved = 'notify';
