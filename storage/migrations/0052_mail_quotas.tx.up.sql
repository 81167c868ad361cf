-- How many mails were sent in the present window of a quota, by its name.
CREATE TABLE IF NOT EXISTS mail_quotas (
    name       text        PRIMARY KEY,
    started_at timestamptz NOT NULL,
    used       bigint      NOT NULL
);
CREATE INDEX IF NOT EXISTS mail_quotas_started_idx ON mail_quotas (started_at);
