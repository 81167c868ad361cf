-- What a member of an organization may do. The user of an older version owns the
-- organization.
ALTER TABLE users ADD COLUMN IF NOT EXISTS role text NOT NULL DEFAULT 'owner';
ALTER TABLE users DROP CONSTRAINT IF EXISTS users_role_check;
ALTER TABLE users ADD CONSTRAINT users_role_check CHECK (role IN ('owner', 'editor', 'responder', 'viewer'));

-- Invitations that were mailed and not used. Only a hash of the token is kept.
CREATE TABLE IF NOT EXISTS invitations (
    id         uuid        PRIMARY KEY,
    org_id     uuid        NOT NULL REFERENCES organizations ON DELETE CASCADE,
    email      text        NOT NULL,
    role       text        NOT NULL CHECK (role IN ('owner', 'editor', 'responder', 'viewer')),
    hash       bytea       NOT NULL UNIQUE,
    invited_by uuid        NOT NULL REFERENCES users ON DELETE CASCADE,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL
);
CREATE UNIQUE INDEX IF NOT EXISTS invitations_email_key ON invitations (org_id, lower(email));
CREATE INDEX IF NOT EXISTS invitations_inviter_idx ON invitations (invited_by);
CREATE INDEX IF NOT EXISTS invitations_expiry_idx ON invitations (expires_at);

-- Who the user of an entry was; entries outlive their users. Entries of an older version
-- have neither.
ALTER TABLE audit_log
    ADD COLUMN IF NOT EXISTS user_name text NOT NULL DEFAULT '',
    ADD COLUMN IF NOT EXISTS user_email text NOT NULL DEFAULT '';
