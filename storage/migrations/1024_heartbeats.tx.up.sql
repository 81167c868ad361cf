-- SPDX-License-Identifier: Apache-2.0

-- The timetable of a loop whose slots are no grid: a cron expression and the time zone that it is
-- read in. Empty: the slots are a grid.
ALTER TABLE check_regions ADD COLUMN IF NOT EXISTS cron text NOT NULL DEFAULT '';
ALTER TABLE check_regions ADD COLUMN IF NOT EXISTS timezone text NOT NULL DEFAULT '';

-- Where the job of a heartbeat pings. id is that of the check. A request is looked up by the hash of
-- its token (SHA-256); secret has the token itself, sealed, for those who may read it. type says how
-- its secrets are sealed.
CREATE TABLE IF NOT EXISTS heartbeats (
    id         uuid        PRIMARY KEY REFERENCES checks ON DELETE CASCADE,
    org_id     uuid        NOT NULL,
    type       text        NOT NULL DEFAULT 'heartbeat',
    token_hash bytea       NOT NULL,
    secret     jsonb       NOT NULL,
    rotated_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE UNIQUE INDEX IF NOT EXISTS heartbeats_token_idx ON heartbeats (token_hash);

-- What jobs reported. received_at is the time of the database; bytes is how long the body was, of
-- which the end is kept. received_xid is read as changed_xid of checks. No reference to checks: what
-- a deleted check leaves is deleted in steps.
CREATE TABLE IF NOT EXISTS pings (
    id           bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    check_id     uuid        NOT NULL,
    kind         text        NOT NULL CHECK (kind IN ('start', 'success', 'fail', 'log')),
    exit_code    integer,
    run          uuid,
    received_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
    received_xid xid8        NOT NULL DEFAULT pg_current_xact_id(),
    body         text        NOT NULL DEFAULT '',
    bytes        bigint      NOT NULL DEFAULT 0
);
CREATE INDEX IF NOT EXISTS pings_check_idx ON pings (check_id, received_at DESC);
CREATE INDEX IF NOT EXISTS pings_received_xid_idx ON pings (received_xid);
CREATE INDEX IF NOT EXISTS pings_received_idx ON pings USING brin (received_at);

-- Until when a process answered pings: one row. The spans in which none did.
CREATE TABLE IF NOT EXISTS ping_answers (
    id          smallint    PRIMARY KEY DEFAULT 1 CHECK (id = 1),
    answered_at timestamptz NOT NULL DEFAULT clock_timestamp()
) WITH (fillfactor = 10);
INSERT INTO ping_answers DEFAULT VALUES ON CONFLICT DO NOTHING;
CREATE TABLE IF NOT EXISTS ping_spans (
    from_at timestamptz PRIMARY KEY,
    to_at   timestamptz NOT NULL CHECK (to_at > from_at)
);
CREATE INDEX IF NOT EXISTS ping_spans_to_idx ON ping_spans (to_at);
