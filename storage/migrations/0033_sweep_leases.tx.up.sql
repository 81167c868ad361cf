-- Which control processes live, and which of them does the work of each shard of the
-- sweep: 0 to 15 are the checks by their id, 16 is what is not split. The fence grows
-- whenever a shard changes hands. Stamped by the database's clock.
CREATE TABLE IF NOT EXISTS sweep_processes (
    name       text        PRIMARY KEY,
    expires_at timestamptz NOT NULL
) WITH (fillfactor = 50);
CREATE TABLE IF NOT EXISTS sweep_leases (
    shard      smallint    PRIMARY KEY,
    holder     text        NOT NULL DEFAULT '',
    fence      bigint      NOT NULL DEFAULT 0,
    expires_at timestamptz NOT NULL DEFAULT '-infinity'
) WITH (fillfactor = 50);
INSERT INTO sweep_leases (shard) SELECT n FROM generate_series(0, 16) AS n ON CONFLICT DO NOTHING;

-- Temporal's store counts as a new generation whenever it has lost its workflows;
-- 0 until the first one is known. lost_at is when the last loss was noticed.
CREATE TABLE IF NOT EXISTS temporal_generation (
    one_row    boolean     PRIMARY KEY DEFAULT true CHECK (one_row),
    generation bigint      NOT NULL DEFAULT 0,
    lost_at    timestamptz NOT NULL DEFAULT '-infinity'
);
INSERT INTO temporal_generation DEFAULT VALUES ON CONFLICT DO NOTHING;

-- The generation of the store that accepted the applied revision. An active loop of an
-- older one must be started again. The first generation is 1.
ALTER TABLE check_regions ADD COLUMN IF NOT EXISTS generation bigint NOT NULL DEFAULT 1;
CREATE INDEX IF NOT EXISTS check_regions_generation_idx ON check_regions (generation) WHERE active;
