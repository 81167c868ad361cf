-- Where an organization wants to be told. Secrets inside config are sealed.
-- disabled_reason is the platform's own, empty where a user decided.
CREATE TABLE IF NOT EXISTS channels (
    id              uuid        PRIMARY KEY,
    org_id          uuid        NOT NULL REFERENCES organizations ON DELETE CASCADE,
    name            text        NOT NULL,
    type            text        NOT NULL,
    config          jsonb       NOT NULL,
    enabled         boolean     NOT NULL,
    disabled_reason text        NOT NULL DEFAULT '',
    created_at      timestamptz NOT NULL,
    updated_at      timestamptz NOT NULL,
    CHECK (disabled_reason = '' OR NOT enabled)
);
CREATE INDEX IF NOT EXISTS channels_newest_idx ON channels (org_id, created_at DESC, id DESC);
