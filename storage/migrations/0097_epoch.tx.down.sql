ALTER TABLE region_votes
    ADD COLUMN IF NOT EXISTS turn tstzrange;

ALTER TABLE checks
    DROP COLUMN IF EXISTS restored;

ALTER TABLE temporal_generation
    DROP COLUMN IF EXISTS epoch,
    DROP COLUMN IF EXISTS epoch_floor,
    DROP COLUMN IF EXISTS epoch_at;
