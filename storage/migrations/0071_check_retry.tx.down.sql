ALTER TABLE checks
    DROP COLUMN IF EXISTS retry_attempts,
    DROP COLUMN IF EXISTS retry_delay_ms,
    DROP COLUMN IF EXISTS retry_on,
    DROP COLUMN IF EXISTS retry_unsafe;
