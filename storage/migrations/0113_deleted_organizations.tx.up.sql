-- An organization that an owner deleted. Its members and credentials are gone at that time;
-- what else it had is deleted in steps, and its row last.
ALTER TABLE organizations ADD COLUMN IF NOT EXISTS deleted_at timestamptz;
CREATE INDEX IF NOT EXISTS organizations_deleted_idx ON organizations (deleted_at) WHERE deleted_at IS NOT NULL;
