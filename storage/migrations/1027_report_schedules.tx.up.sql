-- SPDX-License-Identifier: Apache-2.0

-- When reports of uptime are sent to channels by themselves: weekly (day is 1 for Monday to 7), monthly (the day
-- of the month, 1 to 28) or quarterly (that of the first month), at an hour in a time zone. labels are selectors of
-- checks, as in a query. next_at is the next time, NULL where the schedule is disabled, last_at that of the last
-- report, and skipped_at the last time that was left out, since a later one had come when the platform was back.
CREATE TABLE IF NOT EXISTS report_schedules (
    id          uuid             PRIMARY KEY,
    org_id      uuid             NOT NULL REFERENCES organizations ON DELETE CASCADE,
    name        text             NOT NULL,
    channel_ids uuid[]           NOT NULL,
    labels      text[]           NOT NULL,
    target      double precision NOT NULL,
    every       text             NOT NULL CHECK (every IN ('weekly', 'monthly', 'quarterly')),
    day         integer          NOT NULL,
    hour        integer          NOT NULL,
    timezone    text             NOT NULL,
    enabled     boolean          NOT NULL,
    next_at     timestamptz,
    last_at     timestamptz,
    skipped_at  timestamptz,
    version     bigint           NOT NULL DEFAULT 1,
    created_at  timestamptz      NOT NULL,
    updated_at  timestamptz      NOT NULL
);
CREATE INDEX IF NOT EXISTS report_schedules_newest_idx ON report_schedules (org_id, created_at DESC, id DESC);
CREATE INDEX IF NOT EXISTS report_schedules_due_idx ON report_schedules (next_at) WHERE next_at IS NOT NULL;
