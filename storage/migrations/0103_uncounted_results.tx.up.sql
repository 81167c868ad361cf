-- Results that are stored while another transaction has the row of their loop, or its rollups:
-- these do not count them yet. The next transaction that has the row does, and deletes them here.
CREATE TABLE IF NOT EXISTS uncounted_results (
    check_id      uuid        NOT NULL,
    region        text        NOT NULL,
    slot          timestamptz NOT NULL,
    worker        text        NOT NULL,
    owned         boolean     NOT NULL,
    deadline_ms   bigint      NOT NULL,
    turn_slots    integer     NOT NULL,
    turn_run      uuid,
    turn_activity text,
    turn_ends     timestamptz,
    PRIMARY KEY (check_id, region, slot)
);
