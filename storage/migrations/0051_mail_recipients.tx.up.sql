-- Who agreed to get the mail of an organization's channels, by lower-case address. The
-- token of the confirmation link is hashed; that of the unsubscribe link stands in each
-- mail and can only end mail.
CREATE TABLE IF NOT EXISTS mail_recipients (
    org_id             uuid        NOT NULL REFERENCES organizations ON DELETE CASCADE,
    address            text        NOT NULL,
    unsubscribe_token  text        NOT NULL UNIQUE,
    confirm_hash       bytea       UNIQUE,
    confirm_expires_at timestamptz,
    asked_at           timestamptz,
    confirmed_at       timestamptz,
    unsubscribed_at    timestamptz,
    PRIMARY KEY (org_id, address)
);
