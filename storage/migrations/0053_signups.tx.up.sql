-- From where organizations were made in the last days, to cap those that stay unverified.
CREATE TABLE IF NOT EXISTS signups (
    user_id    uuid        PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
    network    text        NOT NULL,
    created_at timestamptz NOT NULL
);
CREATE INDEX IF NOT EXISTS signups_created_idx ON signups (created_at);
CREATE INDEX IF NOT EXISTS signups_network_idx ON signups (network);
