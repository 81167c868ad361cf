-- The operator's account has a mark that only the platform itself sets: an address proves
-- nothing, because anyone may try to sign up with it. There is one such account at most.
ALTER TABLE users
    ADD COLUMN IF NOT EXISTS operator boolean NOT NULL DEFAULT false;

UPDATE users SET operator = true WHERE lower(email) = 'operator@vigil.invalid' AND email_verified;

CREATE UNIQUE INDEX IF NOT EXISTS users_operator_key ON users (operator) WHERE operator;
