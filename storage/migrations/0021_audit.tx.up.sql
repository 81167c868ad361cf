-- Who did what. user_id, key_id and resource_id refer to nothing: an entry
-- outlives what it speaks of.
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
    user_agent  text        NOT NULL
);
CREATE INDEX IF NOT EXISTS audit_log_newest_idx ON audit_log (org_id, at DESC, id DESC);
CREATE INDEX IF NOT EXISTS audit_log_resource_idx ON audit_log (resource_id, at DESC);
