-- Answers of requests that carried an Idempotency-Key. The answer is written in the
-- transaction of what the request creates; it is null while the request runs.
CREATE TABLE IF NOT EXISTS idempotency_keys (
    org_id      uuid        NOT NULL REFERENCES organizations ON DELETE CASCADE,
    key         text        NOT NULL,
    fingerprint bytea       NOT NULL,
    token       uuid        NOT NULL,
    started_at  timestamptz NOT NULL,
    answer      text,
    PRIMARY KEY (org_id, key)
);
CREATE INDEX IF NOT EXISTS idempotency_keys_started_idx ON idempotency_keys (started_at);
