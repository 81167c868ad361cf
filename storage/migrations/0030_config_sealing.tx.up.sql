-- Which set of secret members the stored configs are sealed for. SQL cannot seal:
-- a process that has the key does, when it starts, and records it here.
CREATE TABLE IF NOT EXISTS config_sealing (
	one_row boolean PRIMARY KEY DEFAULT true CHECK (one_row),
	fingerprint text NOT NULL,
	sealed_at timestamptz NOT NULL
);
