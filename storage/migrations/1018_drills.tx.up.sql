-- SPDX-License-Identifier: Apache-2.0

-- A drill is a check of its own that fails, is healthy again and ends. Its check and its rules have
-- its ID here, and are in no list and in no figure; NULL: not of a drill.
ALTER TABLE checks ADD COLUMN IF NOT EXISTS drill_id uuid;
ALTER TABLE alert_rules ADD COLUMN IF NOT EXISTS drill_id uuid;
CREATE INDEX IF NOT EXISTS checks_drill_idx ON checks (org_id, drill_id) WHERE drill_id IS NOT NULL;

-- When Temporal first accepted the loop; NULL where an older version of the platform marked it.
ALTER TABLE check_regions ADD COLUMN IF NOT EXISTS applied_at timestamptz;

-- The drills. id is also that of the hidden check. request is what was asked for, channels who must
-- receive the messages, seen the instants that rows show only for a while. receipt is the text that
-- is signed, and never changes; signature is a JSON Web Signature of it. progress_at is when its
-- workflow was last seen to work.
CREATE TABLE IF NOT EXISTS drills (
    id           uuid        PRIMARY KEY,
    org_id       uuid        NOT NULL REFERENCES organizations ON DELETE CASCADE,
    state        text        NOT NULL CHECK (state IN ('asked', 'failing', 'recovering', 'closed')),
    request      jsonb       NOT NULL,
    channels     jsonb       NOT NULL,
    channel_ids  uuid[]      NOT NULL,
    regions      text[]      NOT NULL,
    rules        jsonb       NOT NULL,
    labels       jsonb       NOT NULL DEFAULT '{}',
    requested_by text        NOT NULL DEFAULT '',
    seen         jsonb       NOT NULL DEFAULT '[]',
    asked_at     timestamptz NOT NULL,
    staged_at    timestamptz,
    healed_at    timestamptz,
    canceled_at  timestamptz,
    closed_at    timestamptz,
    progress_at  timestamptz NOT NULL,
    verdict      text        NOT NULL DEFAULT '' CHECK (verdict IN ('', 'passed', 'failed', 'canceled')),
    receipt      text,
    signature    text        NOT NULL DEFAULT '',
    CHECK ((state = 'closed') = (closed_at IS NOT NULL))
);
CREATE INDEX IF NOT EXISTS drills_newest_idx ON drills (org_id, asked_at DESC, id DESC);
CREATE INDEX IF NOT EXISTS drills_open_idx ON drills (progress_at) WHERE state <> 'closed';
CREATE INDEX IF NOT EXISTS drills_closed_idx ON drills (closed_at) WHERE state = 'closed';

-- The keys that receipts are signed with. The public one is published; the private one is sealed.
-- The newest one signs, the older ones stay published.
CREATE TABLE IF NOT EXISTS signing_keys (
    id         text        PRIMARY KEY,
    public_key bytea       NOT NULL,
    sealed     text        NOT NULL,
    created_at timestamptz NOT NULL
);
