-- What became of a mail for each recipient of its delivery, by lower-case address, so that none
-- gets it twice. unknown is written before the content is handed over: the server may have taken it.
-- counted: the quotas of mails have counted it.
CREATE TABLE IF NOT EXISTS delivery_recipients (
    delivery_id  uuid        NOT NULL REFERENCES deliveries ON DELETE CASCADE,
    address      text        NOT NULL,
    spelling     text        NOT NULL,
    status       text        NOT NULL CHECK (status IN ('pending', 'delivered', 'failed', 'refused', 'unknown', 'unconfirmed', 'unsubscribed', 'removed')),
    counted      boolean     NOT NULL DEFAULT false,
    attempts     integer     NOT NULL DEFAULT 0,
    status_code  integer     NOT NULL DEFAULT 0,
    error_code   text        NOT NULL DEFAULT '',
    error        text        NOT NULL DEFAULT '',
    attempted_at timestamptz,
    delivered_at timestamptz,
    PRIMARY KEY (delivery_id, address)
);

-- How many recipients an attempt was for, and how many of them it reached.
ALTER TABLE attempts
    ADD COLUMN IF NOT EXISTS recipients integer NOT NULL DEFAULT 0,
    ADD COLUMN IF NOT EXISTS reached    integer NOT NULL DEFAULT 0;
