-- When this database was found to be restored from a backup, or an operator said so.
CREATE TABLE IF NOT EXISTS restores (
    at     timestamptz PRIMARY KEY DEFAULT clock_timestamp(),
    reason text        NOT NULL
);
