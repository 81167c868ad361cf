-- Wrong passwords are counted for an address and where they come from, so that a stranger does
-- not keep its owner out; an empty origin is the count of all networks.
ALTER TABLE login_attempts
    ADD COLUMN IF NOT EXISTS origin text NOT NULL DEFAULT '',
    DROP CONSTRAINT IF EXISTS login_attempts_pkey;

CREATE UNIQUE INDEX IF NOT EXISTS login_attempts_address_origin_key ON login_attempts (address, origin);
