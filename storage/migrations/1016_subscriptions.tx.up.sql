-- SPDX-License-Identifier: Apache-2.0

-- Channels that receive events without being named by a rule. events are types and patterns such as
-- incident.*. check_ids is NULL where the checks are not named; labels are selectors of the form key
-- or key=value, all of which a check must have; severity_min is empty for every severity. A deleted
-- check leaves check_ids. managed_* and applied_version are those of checks.
CREATE TABLE IF NOT EXISTS subscriptions (
    id              uuid        PRIMARY KEY,
    org_id          uuid        NOT NULL REFERENCES organizations ON DELETE CASCADE,
    name            text        NOT NULL,
    channel_id      uuid        NOT NULL,
    events          text[]      NOT NULL,
    labels          text[]      NOT NULL DEFAULT '{}',
    check_ids       uuid[],
    severity_min    text        NOT NULL DEFAULT '',
    enabled         boolean     NOT NULL DEFAULT true,
    version         bigint      NOT NULL DEFAULT 1,
    managed_tool    text,
    managed_project text,
    managed_key     text,
    applied_version bigint      NOT NULL DEFAULT 0,
    created_at      timestamptz NOT NULL,
    updated_at      timestamptz NOT NULL
);
CREATE INDEX IF NOT EXISTS subscriptions_newest_idx ON subscriptions (org_id, created_at DESC, id DESC);
CREATE INDEX IF NOT EXISTS subscriptions_channel_idx ON subscriptions (channel_id);
CREATE INDEX IF NOT EXISTS subscriptions_checks_idx ON subscriptions USING gin (check_ids) WHERE check_ids IS NOT NULL;
CREATE UNIQUE INDEX IF NOT EXISTS subscriptions_managed_key ON subscriptions (org_id, managed_tool, managed_project, managed_key)
    WHERE managed_tool IS NOT NULL;

-- The subscribed channels that were notified that a check is not probed, as those of incidents: they
-- get its end.
ALTER TABLE unobserved_checks ADD COLUMN IF NOT EXISTS audience jsonb NOT NULL DEFAULT '[]';
