-- The rate limit's counters. Unlogged: they change with the traffic and are
-- worth nothing after a minute. A crash of Postgres opens new windows.
CREATE UNLOGGED TABLE IF NOT EXISTS rate_windows (
    org_id  uuid        PRIMARY KEY,
    started timestamptz NOT NULL,
    leased  bigint      NOT NULL,
    granted bigint      NOT NULL
) WITH (fillfactor = 50);
