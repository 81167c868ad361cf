DROP INDEX IF EXISTS organizations_deleted_idx;
ALTER TABLE organizations DROP COLUMN IF EXISTS deleted_at;
