-- audience is whom the incident is told to, frozen when it opens. quiet are the
-- regions in which nothing has fired since the latch was set.
CREATE TABLE IF NOT EXISTS incidents (
    id              uuid        PRIMARY KEY,
    org_id          uuid        NOT NULL REFERENCES organizations ON DELETE CASCADE,
    check_id        uuid        NOT NULL REFERENCES checks ON DELETE CASCADE,
    rule_id         uuid        NOT NULL,
    status          text        NOT NULL CHECK (status IN ('active', 'acknowledged', 'resolved')),
    severity        text        NOT NULL CHECK (severity IN ('critical', 'warning', 'info')),
    title           text        NOT NULL,
    description     text        NOT NULL,
    trigger         jsonb       NOT NULL,
    regions         text[]      NOT NULL,
    audience        jsonb       NOT NULL,
    started_at      timestamptz NOT NULL,
    acknowledged_at timestamptz,
    resolved_at     timestamptz,
    created_at      timestamptz NOT NULL,
    acknowledged_by text        NOT NULL DEFAULT '',
    resolved_by     text        NOT NULL DEFAULT '',
    resolution      text        NOT NULL DEFAULT '' CHECK (resolution IN ('', 'automatic', 'manual', 'check_removed')),
    note            text        NOT NULL DEFAULT '',
    latched         boolean     NOT NULL DEFAULT false,
    quiet           text[]      NOT NULL DEFAULT '{}',
    swept_at        timestamptz NOT NULL,
    sweep_wait_ms   bigint      NOT NULL DEFAULT 0,
    CHECK ((status = 'resolved') = (resolved_at IS NOT NULL)),
    CHECK (NOT latched OR status = 'resolved')
);
-- The second lock on "one open incident for each check"; the first is the id of
-- the incident's workflow.
CREATE UNIQUE INDEX IF NOT EXISTS incidents_open_key ON incidents (check_id) WHERE status <> 'resolved';
CREATE UNIQUE INDEX IF NOT EXISTS incidents_latch_key ON incidents (check_id) WHERE latched;
CREATE INDEX IF NOT EXISTS incidents_newest_idx ON incidents (org_id, created_at DESC, id DESC);
CREATE INDEX IF NOT EXISTS incidents_check_idx ON incidents (check_id, created_at DESC, id DESC);
CREATE INDEX IF NOT EXISTS incidents_sweep_idx ON incidents (swept_at) WHERE status <> 'resolved' OR latched;
