-- Accounts that were asked for where mail leaves the machine: the link in the mail makes them.
-- An address may have several, so that a request of another person does not replace it.
CREATE TABLE IF NOT EXISTS signup_requests (
    hash         bytea       PRIMARY KEY,
    email        text        NOT NULL,
    name         text        NOT NULL,
    organization text        NOT NULL,
    expires_at   timestamptz NOT NULL
);
CREATE INDEX IF NOT EXISTS signup_requests_expires_at_idx ON signup_requests (expires_at);
