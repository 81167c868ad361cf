-- SPDX-License-Identifier: Apache-2.0

-- How a channel's messages arrive. It is no part of channels, so that an outcome neither locks a
-- channel nor changes its version. failures counts the failed attempts in a row, and since is the
-- first of them. episode is the time in which the channel fails, NULL while it does not.
CREATE TABLE IF NOT EXISTS channel_health (
    channel_id        uuid        PRIMARY KEY REFERENCES channels ON DELETE CASCADE,
    org_id            uuid        NOT NULL,
    state             text        NOT NULL DEFAULT 'ok' CHECK (state IN ('ok', 'failing', 'down')),
    failures          integer     NOT NULL DEFAULT 0,
    since             timestamptz,
    episode           uuid,
    last_delivered_at timestamptz,
    last_error        text        NOT NULL DEFAULT '',
    CHECK ((state = 'ok') = (episode IS NULL))
) WITH (fillfactor = 70);

-- What the owners of an organization are to be mailed about a channel, and what they were: one
-- mail in a day. due_at is NULL when there is nothing to mail, lost counts the messages that were
-- given up since the last mail, and news grows with each change, so that what comes while a mail
-- is sent is for the next one. A row outlives its channel.
CREATE TABLE IF NOT EXISTS channel_notices (
    channel_id   uuid        PRIMARY KEY,
    org_id       uuid        NOT NULL REFERENCES organizations ON DELETE CASCADE,
    channel_name text        NOT NULL,
    gone         boolean     NOT NULL DEFAULT false,
    since        timestamptz NOT NULL,
    last_error   text        NOT NULL DEFAULT '',
    lost         bigint      NOT NULL DEFAULT 0,
    fell_back    bigint      NOT NULL DEFAULT 0,
    news         bigint      NOT NULL DEFAULT 1,
    due_at       timestamptz,
    claimed_at   timestamptz,
    mailed_at    timestamptz,
    mails        bigint      NOT NULL DEFAULT 0
);
CREATE INDEX IF NOT EXISTS channel_notices_due_idx ON channel_notices (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX IF NOT EXISTS channel_notices_org_idx ON channel_notices (org_id);

-- Which channel gets what this one cannot deliver. No reference: a channel that others fall back
-- to is not deleted, see deleteChannels.
ALTER TABLE channels ADD COLUMN IF NOT EXISTS fallback_channel_id uuid;
CREATE INDEX IF NOT EXISTS channels_fallback_idx ON channels (fallback_channel_id) WHERE fallback_channel_id IS NOT NULL;

-- The delivery in whose place this one is, and its channel; NULL for all others.
ALTER TABLE deliveries ADD COLUMN IF NOT EXISTS fallback_for jsonb;
