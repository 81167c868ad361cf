-- SPDX-License-Identifier: Apache-2.0

-- Maintenance windows as people define them. starts_at and until are wall time of the time zone.
-- labels are selectors of the form key=value. A deleted window stays, with deleted_at, as long as
-- results of its occurrences are kept: it says what they covered. extended_at is when its
-- occurrences were stored ahead last. managed_* and applied_version are those of checks.
CREATE TABLE IF NOT EXISTS maintenance_windows (
    id               uuid        PRIMARY KEY,
    org_id           uuid        NOT NULL REFERENCES organizations ON DELETE CASCADE,
    name             text        NOT NULL,
    all_checks       boolean     NOT NULL,
    check_ids        uuid[]      NOT NULL,
    labels           text[]      NOT NULL,
    starts_at        timestamp   NOT NULL,
    timezone         text        NOT NULL,
    duration_seconds bigint      NOT NULL,
    rrule            text        NOT NULL,
    cron             text        NOT NULL,
    until            timestamp,
    probing          text        NOT NULL,
    uptime           text        NOT NULL,
    enabled          boolean     NOT NULL,
    version          bigint      NOT NULL DEFAULT 1,
    managed_tool     text,
    managed_project  text,
    managed_key      text,
    applied_version  bigint      NOT NULL DEFAULT 0,
    created_at       timestamptz NOT NULL,
    updated_at       timestamptz NOT NULL,
    deleted_at       timestamptz,
    extended_at      timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX IF NOT EXISTS maintenance_windows_newest_idx ON maintenance_windows (org_id, created_at DESC, id DESC)
    WHERE deleted_at IS NULL;
CREATE INDEX IF NOT EXISTS maintenance_windows_checks_idx ON maintenance_windows USING gin (check_ids) WHERE deleted_at IS NULL;
CREATE INDEX IF NOT EXISTS maintenance_windows_deleted_idx ON maintenance_windows (deleted_at) WHERE deleted_at IS NOT NULL;
CREATE INDEX IF NOT EXISTS maintenance_windows_extended_idx ON maintenance_windows (extended_at)
    WHERE enabled AND deleted_at IS NULL AND (rrule <> '' OR cron <> '');
CREATE UNIQUE INDEX IF NOT EXISTS maintenance_windows_managed_key
    ON maintenance_windows (org_id, managed_tool, managed_project, managed_key) WHERE managed_tool IS NOT NULL AND deleted_at IS NULL;

-- The spans [starts_at, ends_at) in which the windows are in force, up to 400 days ahead. changed_at
-- is the database's time of the last change of the span, or of what its window covers or does;
-- changed_xid is read as that of checks. A removed occurrence was never in force, or is not any
-- more, and stays for a day so that readers of changes see it. start_handled and end_handled: the
-- sweep has looked at the checks when the occurrence began and when it ended.
CREATE TABLE IF NOT EXISTS maintenance_occurrences (
    window_id     uuid        NOT NULL REFERENCES maintenance_windows ON DELETE CASCADE,
    org_id        uuid        NOT NULL,
    starts_at     timestamptz NOT NULL,
    ends_at       timestamptz NOT NULL,
    shifted       boolean     NOT NULL DEFAULT false,
    ended_early   boolean     NOT NULL DEFAULT false,
    start_handled boolean     NOT NULL DEFAULT false,
    end_handled   boolean     NOT NULL DEFAULT false,
    changed_at    timestamptz NOT NULL DEFAULT now(),
    removed_at    timestamptz,
    changed_xid   xid8        NOT NULL DEFAULT pg_current_xact_id(),
    PRIMARY KEY (window_id, starts_at)
);
CREATE INDEX IF NOT EXISTS maintenance_occurrences_org_idx ON maintenance_occurrences (org_id, ends_at) WHERE removed_at IS NULL;
CREATE INDEX IF NOT EXISTS maintenance_occurrences_ends_idx ON maintenance_occurrences (ends_at) WHERE removed_at IS NULL;
CREATE INDEX IF NOT EXISTS maintenance_occurrences_start_idx ON maintenance_occurrences (starts_at)
    WHERE NOT start_handled AND removed_at IS NULL;
CREATE INDEX IF NOT EXISTS maintenance_occurrences_end_idx ON maintenance_occurrences (ends_at)
    WHERE NOT end_handled AND removed_at IS NULL;
CREATE INDEX IF NOT EXISTS maintenance_occurrences_removed_idx ON maintenance_occurrences (removed_at) WHERE removed_at IS NOT NULL;
CREATE INDEX IF NOT EXISTS maintenance_occurrences_changed_xid_idx ON maintenance_occurrences (changed_xid);

-- Checks whose incident workflow knows that no incident may open, since held_at. The sweep wakes the
-- workflow when the maintenance is over, and deletes the row.
CREATE TABLE IF NOT EXISTS maintenance_holds (
    check_id      uuid        PRIMARY KEY REFERENCES checks ON DELETE CASCADE,
    org_id        uuid        NOT NULL,
    held_at       timestamptz NOT NULL,
    until_at      timestamptz NOT NULL,
    swept_at      timestamptz NOT NULL,
    sweep_wait_ms bigint      NOT NULL DEFAULT 0
) WITH (fillfactor = 70);
