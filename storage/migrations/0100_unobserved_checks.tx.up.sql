-- The checks that are known not to be probed: their beginning is in the stream, and their end
-- is not yet. No reference to checks: the end of one that was deleted is reported as well, with what
-- the row says of it. since is the time of the newest result, or when the first one was due.
CREATE TABLE IF NOT EXISTS unobserved_checks (
    check_id   uuid        PRIMARY KEY,
    id         uuid        NOT NULL,
    org_id     uuid        NOT NULL REFERENCES organizations ON DELETE CASCADE,
    since      timestamptz NOT NULL,
    regions    text[]      NOT NULL,
    described  jsonb       NOT NULL,
    created_at timestamptz NOT NULL
);
