-- SPDX-License-Identifier: Apache-2.0

-- Where an organization wants to be notified. Secrets inside config are sealed. disabled_reason is
-- the platform's own, empty where a user decided. managed_* and applied_version are those of checks.
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
    labels          jsonb       NOT NULL DEFAULT '{}',
    version         bigint      NOT NULL DEFAULT 1,
    managed_tool    text,
    managed_project text,
    managed_key     text,
    applied_version bigint      NOT NULL DEFAULT 0,
    CHECK (disabled_reason = '' OR NOT enabled)
);
CREATE INDEX IF NOT EXISTS channels_newest_idx ON channels (org_id, created_at DESC, id DESC);
CREATE UNIQUE INDEX IF NOT EXISTS channels_managed_key ON channels (org_id, managed_tool, managed_project, managed_key)
    WHERE managed_tool IS NOT NULL;

-- Who agreed to get the mail of an organization's channels, by lower-case address. The token of
-- the confirmation link is hashed; that of the unsubscribe link stands in each mail and can only
-- end mail.
CREATE TABLE IF NOT EXISTS mail_recipients (
    org_id             uuid        NOT NULL REFERENCES organizations ON DELETE CASCADE,
    address            text        NOT NULL,
    unsubscribe_token  text        NOT NULL UNIQUE,
    confirm_hash       bytea       UNIQUE,
    confirm_expires_at timestamptz,
    asked_at           timestamptz,
    confirmed_at       timestamptz,
    unsubscribed_at    timestamptz,
    PRIMARY KEY (org_id, address)
);

-- How many mails were sent in the present window of a quota, by its name.
CREATE TABLE IF NOT EXISTS mail_quotas (
    name       text        PRIMARY KEY,
    started_at timestamptz NOT NULL,
    used       bigint      NOT NULL
);
CREATE INDEX IF NOT EXISTS mail_quotas_started_idx ON mail_quotas (started_at);
