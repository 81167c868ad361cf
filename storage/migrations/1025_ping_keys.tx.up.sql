-- SPDX-License-Identifier: Apache-2.0

-- The ping key of an organization: a credential that can ping its heartbeats by their slugs, make
-- heartbeats, and nothing else. A request is looked up by the hash of its key (SHA-256); secret has
-- the key itself, sealed, for those who may read it, and type says how. prefix are its first
-- characters, for the audit log.
CREATE TABLE IF NOT EXISTS ping_keys (
    id         uuid        PRIMARY KEY,
    org_id     uuid        NOT NULL REFERENCES organizations ON DELETE CASCADE,
    type       text        NOT NULL DEFAULT 'ping_key',
    key_hash   bytea       NOT NULL,
    secret     jsonb       NOT NULL,
    prefix     text        NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    rotated_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE UNIQUE INDEX IF NOT EXISTS ping_keys_org_idx ON ping_keys (org_id);
CREATE UNIQUE INDEX IF NOT EXISTS ping_keys_hash_idx ON ping_keys (key_hash);

-- Heartbeats by slug. The collation makes that of a name the same in every database.
CREATE INDEX IF NOT EXISTS checks_slug_idx
    ON checks (org_id, btrim(regexp_replace(lower(name COLLATE "C"), '[^a-z0-9_]+', '-', 'g'), '-'))
    WHERE type = 'heartbeat';
