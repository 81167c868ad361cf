DELETE FROM login_attempts;
DROP INDEX IF EXISTS login_attempts_address_origin_key;
ALTER TABLE login_attempts
    DROP COLUMN IF EXISTS origin,
    ADD PRIMARY KEY (address);
