-- SPDX-License-Identifier: Apache-2.0

-- deleted_at: an owner deleted the organization. Its members and credentials are gone at that
-- time; what else it had is deleted in steps, and its row last.
CREATE TABLE IF NOT EXISTS organizations (
    id         uuid        PRIMARY KEY,
    name       text        NOT NULL,
    slug       text        NOT NULL UNIQUE,
    tier       text        NOT NULL CHECK (tier IN ('free', 'paid', 'enterprise')),
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    deleted_at timestamptz
);
CREATE INDEX IF NOT EXISTS organizations_deleted_idx ON organizations (deleted_at) WHERE deleted_at IS NOT NULL;

-- The members of organizations; each belongs to one. created_address is from where the account
-- was made, empty when that is not known. operator marks the operator's account, which only the
-- platform itself makes: an address proves nothing, because anyone may try to sign up with it.
CREATE TABLE IF NOT EXISTS users (
    id              uuid        PRIMARY KEY,
    org_id          uuid        NOT NULL REFERENCES organizations ON DELETE CASCADE,
    email           text        NOT NULL,
    email_verified  boolean     NOT NULL,
    name            text        NOT NULL,
    password_hash   text        NOT NULL,
    session_version bigint      NOT NULL,
    created_at      timestamptz NOT NULL,
    updated_at      timestamptz NOT NULL,
    created_address text        NOT NULL DEFAULT '',
    role            text        NOT NULL DEFAULT 'owner' CHECK (role IN ('owner', 'editor', 'responder', 'viewer')),
    operator        boolean     NOT NULL DEFAULT false
);
CREATE UNIQUE INDEX IF NOT EXISTS users_email_key ON users (lower(email));
CREATE INDEX IF NOT EXISTS users_org_idx ON users (org_id);
CREATE UNIQUE INDEX IF NOT EXISTS users_operator_key ON users (operator) WHERE operator;

-- scopes are what a key may do, until expires_at. end_mailed_at is when its owner was mailed that
-- it ends soon, end_claimed_at when a process began to.
CREATE TABLE IF NOT EXISTS api_keys (
    id             uuid        PRIMARY KEY,
    org_id         uuid        NOT NULL REFERENCES organizations ON DELETE CASCADE,
    user_id        uuid        NOT NULL REFERENCES users ON DELETE CASCADE,
    name           text        NOT NULL,
    prefix         text        NOT NULL,
    hash           bytea       NOT NULL UNIQUE,
    created_at     timestamptz NOT NULL,
    last_used_at   timestamptz,
    scopes         text[]      NOT NULL DEFAULT '{read,respond,write,admin}',
    expires_at     timestamptz,
    end_mailed_at  timestamptz,
    end_claimed_at timestamptz
);
CREATE INDEX IF NOT EXISTS api_keys_newest_idx ON api_keys (org_id, created_at DESC, id DESC);
CREATE INDEX IF NOT EXISTS api_keys_user_idx ON api_keys (user_id);
CREATE INDEX IF NOT EXISTS api_keys_end_idx ON api_keys (expires_at) WHERE expires_at IS NOT NULL AND end_mailed_at IS NULL;

-- Links that were mailed. Only a hash is kept; a newer one of the same purpose takes the place
-- of the older. A link of the purpose change goes to the present address of an account when
-- new_email is requested: it stops the change and, unless approved, allows it.
CREATE TABLE IF NOT EXISTS account_tokens (
    hash       bytea       PRIMARY KEY,
    purpose    text        NOT NULL CHECK (purpose IN ('verify', 'recover', 'change')),
    user_id    uuid        NOT NULL REFERENCES users ON DELETE CASCADE,
    email      text        NOT NULL,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    new_email  text        NOT NULL DEFAULT '',
    approved   boolean     NOT NULL DEFAULT true,
    UNIQUE (user_id, purpose)
);
CREATE INDEX IF NOT EXISTS account_tokens_expiry_idx ON account_tokens (expires_at);

-- Attempts to log in that have not succeeded, by lower-case address, whether or not an account
-- has it, and by where they come from, so that a stranger does not keep its owner out. An empty
-- origin is the count of all networks.
CREATE TABLE IF NOT EXISTS login_attempts (
    address  text        NOT NULL,
    failures integer     NOT NULL,
    first_at timestamptz NOT NULL,
    last_at  timestamptz NOT NULL,
    origin   text        NOT NULL DEFAULT '',
    PRIMARY KEY (address, origin)
);
CREATE INDEX IF NOT EXISTS login_attempts_last_idx ON login_attempts (last_at);

-- Links that sign in without a password, which the operator prints on the machine itself.
-- Only a hash of the token is kept.
CREATE TABLE IF NOT EXISTS login_links (
    hash       bytea       PRIMARY KEY,
    user_id    uuid        NOT NULL REFERENCES users ON DELETE CASCADE,
    expires_at timestamptz NOT NULL
);
CREATE INDEX IF NOT EXISTS login_links_user_idx ON login_links (user_id);
CREATE INDEX IF NOT EXISTS login_links_expiry_idx ON login_links (expires_at);

-- Sessions of browsers. The token is a hash. A session that was ended stays for an hour: a
-- request that still runs must not store it again.
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

-- From where organizations were made in the last days, to cap those that stay unverified.
CREATE TABLE IF NOT EXISTS signups (
    user_id    uuid        PRIMARY KEY REFERENCES users ON DELETE CASCADE,
    network    text        NOT NULL,
    created_at timestamptz NOT NULL
);
CREATE INDEX IF NOT EXISTS signups_created_idx ON signups (created_at);
CREATE INDEX IF NOT EXISTS signups_network_idx ON signups (network);

-- Accounts that were asked for where mail leaves the machine: the link in the mail makes them.
-- An address may have several, so that a request of another person does not replace it.
CREATE TABLE IF NOT EXISTS signup_requests (
    hash         bytea       PRIMARY KEY,
    email        text        NOT NULL,
    name         text        NOT NULL,
    organization text        NOT NULL,
    expires_at   timestamptz NOT NULL
);
CREATE INDEX IF NOT EXISTS signup_requests_expires_at_idx ON signup_requests (expires_at);

-- Who did what. user_id, key_id and resource_id have no reference, and the name and the address
-- of the user are kept: an entry outlives what it is about.
CREATE TABLE IF NOT EXISTS audit_log (
    id          uuid        PRIMARY KEY,
    org_id      uuid        NOT NULL REFERENCES organizations ON DELETE CASCADE,
    at          timestamptz NOT NULL,
    action      text        NOT NULL,
    resource_id uuid,
    user_id     uuid,
    key_id      uuid,
    key_prefix  text        NOT NULL,
    members     text[]      NOT NULL,
    request_id  text        NOT NULL,
    address     text        NOT NULL,
    user_agent  text        NOT NULL,
    user_name   text        NOT NULL DEFAULT '',
    user_email  text        NOT NULL DEFAULT ''
);
CREATE INDEX IF NOT EXISTS audit_log_newest_idx ON audit_log (org_id, at DESC, id DESC);
CREATE INDEX IF NOT EXISTS audit_log_resource_idx ON audit_log (resource_id, at DESC);
CREATE INDEX IF NOT EXISTS audit_log_at_idx ON audit_log (at);

-- Answers of requests that carried an Idempotency-Key. The answer is written in the transaction
-- of what the request creates; it is null while the request runs.
CREATE TABLE IF NOT EXISTS idempotency_keys (
    org_id      uuid        NOT NULL REFERENCES organizations ON DELETE CASCADE,
    key         text        NOT NULL,
    fingerprint bytea       NOT NULL,
    token       uuid        NOT NULL,
    started_at  timestamptz NOT NULL,
    answer      text,
    PRIMARY KEY (org_id, key)
);
CREATE INDEX IF NOT EXISTS idempotency_keys_started_idx ON idempotency_keys (started_at);

-- The counters of the rate limit. Unlogged: they change with the traffic and are worth nothing
-- after a minute. A crash of Postgres opens new windows.
CREATE UNLOGGED TABLE IF NOT EXISTS rate_windows (
    org_id  uuid        PRIMARY KEY,
    started timestamptz NOT NULL,
    leased  bigint      NOT NULL,
    granted bigint      NOT NULL
) WITH (fillfactor = 50);
