-- Since when processes of the platform encrypt what Temporal stores. Histories keep what was
-- encrypted after it was switched off, so the row stays.
CREATE TABLE IF NOT EXISTS payload_encryption (
    one_row boolean     PRIMARY KEY DEFAULT true CHECK (one_row),
    since   timestamptz NOT NULL
);
