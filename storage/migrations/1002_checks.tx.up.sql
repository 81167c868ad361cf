-- SPDX-License-Identifier: Apache-2.0

-- revision is what the loops know a check by: it also grows with the rules and after a restore.
-- version is the revision of the definition, as the API shows it. changed_at is the database's
-- time, and changed_xid the transaction, of the last change of what a worker must know:
-- catalogues ask for what was not visible in the snapshot that they read last, so each change is
-- read once, however late it commits. managed_* say what manages the definition, such as the
-- project of a file; NULL: nothing does. applied_version is the version that apply stored last,
-- 0 for none: a later version was made by somebody else. retry_* are what happens before a failure
-- is stored, evidence whether failed results keep it. restored is the epoch that began with the
-- last restore while the check existed: a loop that knows an older one compares its state with
-- the rows and reports its vote again.
CREATE TABLE IF NOT EXISTS checks (
    id              uuid        PRIMARY KEY,
    org_id          uuid        NOT NULL REFERENCES organizations ON DELETE CASCADE,
    name            text        NOT NULL,
    type            text        NOT NULL,
    config          jsonb       NOT NULL,
    target          text        NOT NULL,
    interval_ms     bigint      NOT NULL CHECK (interval_ms > 0),
    regions         text[]      NOT NULL CHECK (cardinality(regions) > 0),
    enabled         boolean     NOT NULL,
    simultaneous    boolean     NOT NULL,
    anchor          timestamptz NOT NULL,
    revision        bigint      NOT NULL,
    expires_at      timestamptz,
    created_at      timestamptz NOT NULL,
    updated_at      timestamptz NOT NULL,
    changed_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
    labels          jsonb       NOT NULL DEFAULT '{}',
    -- What a search looks in. The line break keeps a match within one of the two.
    search          text        GENERATED ALWAYS AS (lower(name || E'\n' || target)) STORED,
    version         bigint      NOT NULL DEFAULT 1,
    managed_tool    text,
    managed_project text,
    managed_key     text,
    applied_version bigint      NOT NULL DEFAULT 0,
    retry_attempts  smallint    NOT NULL DEFAULT 0,
    retry_delay_ms  bigint      NOT NULL DEFAULT 0,
    retry_on        text        NOT NULL DEFAULT 'any',
    retry_unsafe    boolean     NOT NULL DEFAULT false,
    evidence        boolean     NOT NULL DEFAULT true,
    restored        bigint      NOT NULL DEFAULT 0,
    changed_xid     xid8        NOT NULL DEFAULT pg_current_xact_id()
);
CREATE INDEX IF NOT EXISTS checks_newest_idx ON checks (org_id, created_at DESC, id DESC);
CREATE INDEX IF NOT EXISTS checks_updated_idx ON checks (org_id, updated_at DESC, id DESC);
CREATE INDEX IF NOT EXISTS checks_name_idx ON checks (org_id, (lower(name) COLLATE "C"), id);
CREATE INDEX IF NOT EXISTS checks_disabled_idx ON checks (org_id, created_at DESC, id DESC) WHERE NOT enabled;
CREATE INDEX IF NOT EXISTS checks_labels_idx ON checks USING gin (labels);
CREATE INDEX IF NOT EXISTS checks_expiry_idx ON checks (expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX IF NOT EXISTS checks_changed_xid_idx ON checks (changed_xid, id);
CREATE UNIQUE INDEX IF NOT EXISTS checks_managed_key ON checks (org_id, managed_tool, managed_project, managed_key)
    WHERE managed_tool IS NOT NULL;

-- Creations of the last hour, deleted checks included, for the allowance.
CREATE TABLE IF NOT EXISTS check_creations (
    org_id uuid        NOT NULL REFERENCES organizations ON DELETE CASCADE,
    at     timestamptz NOT NULL
);
CREATE INDEX IF NOT EXISTS check_creations_idx ON check_creations (org_id, at);

-- Configs that are tried and not saved, for as long as their probes run. Unlogged: a row is
-- worth nothing after its end. The secrets of a config are sealed, as in checks.
CREATE UNLOGGED TABLE IF NOT EXISTS check_trials (
    id          uuid        PRIMARY KEY,
    org_id      uuid        NOT NULL,
    type        text        NOT NULL,
    config      jsonb       NOT NULL,
    target      text        NOT NULL,
    interval_ms bigint      NOT NULL,
    ends        timestamptz NOT NULL
);
CREATE INDEX IF NOT EXISTS check_trials_ends_idx ON check_trials (ends);

-- Tests by hand that run now. A worker polls for a region that a test asks for, as a dry run may
-- for one that has no loops. Unlogged: a row is worth nothing after its end.
CREATE UNLOGGED TABLE IF NOT EXISTS running_tests (
    org_id uuid        NOT NULL,
    id     uuid        NOT NULL,
    ends   timestamptz NOT NULL,
    region text        NOT NULL DEFAULT '',
    PRIMARY KEY (org_id, id)
);
