-- What happens before a failure of a check is stored. Constant defaults change the catalogue
-- only, and a release that does not know the columns leaves them as they are.
ALTER TABLE checks
    ADD COLUMN IF NOT EXISTS retry_attempts smallint NOT NULL DEFAULT 0,
    ADD COLUMN IF NOT EXISTS retry_delay_ms bigint   NOT NULL DEFAULT 0,
    ADD COLUMN IF NOT EXISTS retry_on       text     NOT NULL DEFAULT 'any',
    ADD COLUMN IF NOT EXISTS retry_unsafe   boolean  NOT NULL DEFAULT false;
