-- The epoch is a number that is written here and to Temporal every few seconds: where they
-- differ, one of the two stores was restored from a backup. Temporal has this one, or an older
-- one down to epoch_floor.
ALTER TABLE temporal_generation
    ADD COLUMN IF NOT EXISTS epoch       bigint      NOT NULL DEFAULT 1,
    ADD COLUMN IF NOT EXISTS epoch_floor bigint      NOT NULL DEFAULT 0,
    ADD COLUMN IF NOT EXISTS epoch_at    timestamptz NOT NULL DEFAULT '-infinity';

-- The epoch that began with the last restore while the check existed. A loop that knows an
-- older one compares its state with the rows and reports its vote again.
ALTER TABLE checks
    ADD COLUMN IF NOT EXISTS restored bigint NOT NULL DEFAULT 0;

ALTER TABLE region_votes
    DROP COLUMN IF EXISTS turn;
