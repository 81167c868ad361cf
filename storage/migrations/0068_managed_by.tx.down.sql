DROP INDEX IF EXISTS status_pages_managed_key;
ALTER TABLE status_pages
    DROP COLUMN IF EXISTS applied_version,
    DROP COLUMN IF EXISTS managed_key,
    DROP COLUMN IF EXISTS managed_project,
    DROP COLUMN IF EXISTS managed_tool;
DROP INDEX IF EXISTS channels_managed_key;
ALTER TABLE channels
    DROP COLUMN IF EXISTS applied_version,
    DROP COLUMN IF EXISTS managed_key,
    DROP COLUMN IF EXISTS managed_project,
    DROP COLUMN IF EXISTS managed_tool;
DROP INDEX IF EXISTS alert_rules_managed_key;
ALTER TABLE alert_rules
    DROP COLUMN IF EXISTS applied_version,
    DROP COLUMN IF EXISTS managed_key,
    DROP COLUMN IF EXISTS managed_project,
    DROP COLUMN IF EXISTS managed_tool;
DROP INDEX IF EXISTS checks_managed_key;
ALTER TABLE checks
    DROP COLUMN IF EXISTS applied_version,
    DROP COLUMN IF EXISTS managed_key,
    DROP COLUMN IF EXISTS managed_project,
    DROP COLUMN IF EXISTS managed_tool;
