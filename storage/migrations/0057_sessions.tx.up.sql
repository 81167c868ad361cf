-- Sessions of browsers. The token is a hash. A session that was ended stays for an hour:
-- a request that still runs must not store it again.
CREATE TABLE IF NOT EXISTS sessions (
    token      text        PRIMARY KEY,
    id         uuid        NOT NULL,
    user_id    uuid        REFERENCES users ON DELETE CASCADE,
    data       bytea       NOT NULL,
    address    text        NOT NULL,
    user_agent text        NOT NULL,
    created_at timestamptz NOT NULL,
    seen_at    timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    ended_at   timestamptz
);
CREATE INDEX IF NOT EXISTS sessions_user_idx ON sessions (user_id);
CREATE INDEX IF NOT EXISTS sessions_expiry_idx ON sessions (expires_at);
