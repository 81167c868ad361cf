-- What manages a definition, such as the project of a file; NULL: nothing does.
-- applied_version is the version that apply stored last, 0 for none: a later version was made
-- by somebody else.
ALTER TABLE checks
    ADD COLUMN IF NOT EXISTS managed_tool text,
    ADD COLUMN IF NOT EXISTS managed_project text,
    ADD COLUMN IF NOT EXISTS managed_key text,
    ADD COLUMN IF NOT EXISTS applied_version bigint NOT NULL DEFAULT 0;
CREATE UNIQUE INDEX IF NOT EXISTS checks_managed_key ON checks (org_id, managed_tool, managed_project, managed_key)
    WHERE managed_tool IS NOT NULL;
ALTER TABLE alert_rules
    ADD COLUMN IF NOT EXISTS managed_tool text,
    ADD COLUMN IF NOT EXISTS managed_project text,
    ADD COLUMN IF NOT EXISTS managed_key text,
    ADD COLUMN IF NOT EXISTS applied_version bigint NOT NULL DEFAULT 0;
CREATE UNIQUE INDEX IF NOT EXISTS alert_rules_managed_key ON alert_rules (org_id, managed_tool, managed_project, managed_key)
    WHERE managed_tool IS NOT NULL;
ALTER TABLE channels
    ADD COLUMN IF NOT EXISTS managed_tool text,
    ADD COLUMN IF NOT EXISTS managed_project text,
    ADD COLUMN IF NOT EXISTS managed_key text,
    ADD COLUMN IF NOT EXISTS applied_version bigint NOT NULL DEFAULT 0;
CREATE UNIQUE INDEX IF NOT EXISTS channels_managed_key ON channels (org_id, managed_tool, managed_project, managed_key)
    WHERE managed_tool IS NOT NULL;
ALTER TABLE status_pages
    ADD COLUMN IF NOT EXISTS managed_tool text,
    ADD COLUMN IF NOT EXISTS managed_project text,
    ADD COLUMN IF NOT EXISTS managed_key text,
    ADD COLUMN IF NOT EXISTS applied_version bigint NOT NULL DEFAULT 0;
CREATE UNIQUE INDEX IF NOT EXISTS status_pages_managed_key ON status_pages (org_id, managed_tool, managed_project, managed_key)
    WHERE managed_tool IS NOT NULL;
