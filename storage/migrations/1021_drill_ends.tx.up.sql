-- SPDX-License-Identifier: Apache-2.0

-- The rule of a drill of subscriptions names no channel. That all others name one is held where they
-- are written.
ALTER TABLE alert_rules DROP CONSTRAINT IF EXISTS alert_rules_channel_ids_check;

-- When the owners are to be mailed that a drill failed: NULL once they were, and where they need not be.
-- notice_claimed_at is when a process last began to.
ALTER TABLE drills ADD COLUMN IF NOT EXISTS notice_due_at timestamptz;
ALTER TABLE drills ADD COLUMN IF NOT EXISTS notice_claimed_at timestamptz;
CREATE INDEX IF NOT EXISTS drills_notice_idx ON drills (notice_due_at) WHERE notice_due_at IS NOT NULL;

-- The last drill of each channel that has ended.
CREATE TABLE IF NOT EXISTS channel_drills (
    channel_id uuid        PRIMARY KEY REFERENCES channels ON DELETE CASCADE,
    org_id     uuid        NOT NULL REFERENCES organizations ON DELETE CASCADE,
    drill_id   uuid        NOT NULL REFERENCES drills ON DELETE CASCADE,
    verdict    text        NOT NULL,
    at         timestamptz NOT NULL
);
CREATE INDEX IF NOT EXISTS channel_drills_org_idx ON channel_drills (org_id);
CREATE INDEX IF NOT EXISTS channel_drills_drill_idx ON channel_drills (drill_id);
