-- Why private addresses are refused as targets although the settings permit them: the API
-- writes it for the workers when it notices a proxy. Without a row they are not refused.
CREATE TABLE IF NOT EXISTS private_targets (
    one_row   boolean     PRIMARY KEY DEFAULT true CHECK (one_row),
    closed_at timestamptz NOT NULL,
    reason    text        NOT NULL
);
