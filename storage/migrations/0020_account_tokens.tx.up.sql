-- Links that were mailed. Only a hash is kept; a newer one of the same purpose
-- takes the place of the older.
CREATE TABLE IF NOT EXISTS account_tokens (
    hash       bytea       PRIMARY KEY,
    purpose    text        NOT NULL CHECK (purpose IN ('verify', 'recover')),
    user_id    uuid        NOT NULL REFERENCES users ON DELETE CASCADE,
    email      text        NOT NULL,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    UNIQUE (user_id, purpose)
);
CREATE INDEX IF NOT EXISTS account_tokens_expiry_idx ON account_tokens (expires_at);

-- Attempts to log in that have not succeeded, by lower-case address, whether or
-- not an account has it.
CREATE TABLE IF NOT EXISTS login_attempts (
    address  text        PRIMARY KEY,
    failures integer     NOT NULL,
    first_at timestamptz NOT NULL,
    last_at  timestamptz NOT NULL
);
CREATE INDEX IF NOT EXISTS login_attempts_last_idx ON login_attempts (last_at);
