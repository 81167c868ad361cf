CREATE TABLE IF NOT EXISTS organizations (
    id         uuid        PRIMARY KEY,
    name       text        NOT NULL,
    slug       text        NOT NULL UNIQUE,
    tier       text        NOT NULL CHECK (tier IN ('free', 'paid', 'enterprise')),
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL
);

CREATE TABLE IF NOT EXISTS users (
    id              uuid        PRIMARY KEY,
    org_id          uuid        NOT NULL REFERENCES organizations ON DELETE CASCADE,
    email           text        NOT NULL,
    email_verified  boolean     NOT NULL,
    name            text        NOT NULL,
    password_hash   text        NOT NULL,
    session_version bigint      NOT NULL,
    created_at      timestamptz NOT NULL,
    updated_at      timestamptz NOT NULL
);
CREATE UNIQUE INDEX IF NOT EXISTS users_email_key ON users (lower(email));
CREATE INDEX IF NOT EXISTS users_org_idx ON users (org_id);

CREATE TABLE IF NOT EXISTS api_keys (
    id           uuid        PRIMARY KEY,
    org_id       uuid        NOT NULL REFERENCES organizations ON DELETE CASCADE,
    user_id      uuid        NOT NULL REFERENCES users ON DELETE CASCADE,
    name         text        NOT NULL,
    prefix       text        NOT NULL,
    hash         bytea       NOT NULL UNIQUE,
    created_at   timestamptz NOT NULL,
    last_used_at timestamptz
);
CREATE INDEX IF NOT EXISTS api_keys_newest_idx ON api_keys (org_id, created_at DESC, id DESC);
CREATE INDEX IF NOT EXISTS api_keys_user_idx ON api_keys (user_id);
