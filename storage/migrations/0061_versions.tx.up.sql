-- The revision of a definition as the API shows it. It is not checks.revision, which also
-- grows with rules and after a restore, for the loops.
ALTER TABLE checks ADD COLUMN IF NOT EXISTS version bigint NOT NULL DEFAULT 1;
ALTER TABLE alert_rules ADD COLUMN IF NOT EXISTS version bigint NOT NULL DEFAULT 1;
ALTER TABLE channels ADD COLUMN IF NOT EXISTS version bigint NOT NULL DEFAULT 1;
