-- SPDX-License-Identifier: Apache-2.0

-- When drills run by themselves: monthly (day is the day of the month, 1 to 28) or weekly (day is 1
-- for Monday to 7), at an hour in a time zone. next_at is the next time, NULL where the schedule is
-- disabled. skipped_at is the last time that was left out, since the platform was away for longer than a day.
CREATE TABLE IF NOT EXISTS drill_schedules (
    id         uuid        PRIMARY KEY,
    org_id     uuid        NOT NULL REFERENCES organizations ON DELETE CASCADE,
    name       text        NOT NULL,
    request    jsonb       NOT NULL,
    every      text        NOT NULL CHECK (every IN ('monthly', 'weekly')),
    day        integer     NOT NULL,
    hour       integer     NOT NULL,
    timezone   text        NOT NULL,
    enabled    boolean     NOT NULL,
    next_at    timestamptz,
    skipped_at timestamptz,
    version    bigint      NOT NULL DEFAULT 1,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL
);
CREATE INDEX IF NOT EXISTS drill_schedules_newest_idx ON drill_schedules (org_id, created_at DESC, id DESC);
CREATE INDEX IF NOT EXISTS drill_schedules_due_idx ON drill_schedules (next_at) WHERE next_at IS NOT NULL;

-- The schedule that a drill runs by; NULL: somebody asked for it.
ALTER TABLE drills ADD COLUMN IF NOT EXISTS schedule_id uuid;
CREATE INDEX IF NOT EXISTS drills_schedule_idx ON drills (schedule_id, asked_at DESC) WHERE schedule_id IS NOT NULL;
