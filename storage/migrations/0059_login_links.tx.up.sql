-- Links that sign in without a password, which the operator prints on the machine itself.
-- Only a hash of the token is kept.
CREATE TABLE IF NOT EXISTS login_links (
    hash       bytea       PRIMARY KEY,
    user_id    uuid        NOT NULL REFERENCES users ON DELETE CASCADE,
    expires_at timestamptz NOT NULL
);
CREATE INDEX IF NOT EXISTS login_links_user_idx ON login_links (user_id);
CREATE INDEX IF NOT EXISTS login_links_expiry_idx ON login_links (expires_at);
