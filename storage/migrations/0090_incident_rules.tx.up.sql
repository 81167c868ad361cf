-- The rules that fired in an incident, what its latch holds, and the rules that notify when
-- they begin to fire while an incident is open. Constant defaults change the catalogue only.
ALTER TABLE incidents
    ADD COLUMN IF NOT EXISTS rules       jsonb  NOT NULL DEFAULT '[]',
    ADD COLUMN IF NOT EXISTS latch_rules uuid[] NOT NULL DEFAULT '{}';
ALTER TABLE alert_rules
    ADD COLUMN IF NOT EXISTS notify_if_open boolean NOT NULL DEFAULT false;
