-- SPDX-License-Identifier: Apache-2.0

-- The newest position in the stream of each organization. Its row lock, taken by the last statement
-- of a transaction, makes the order of positions the order of commits.
CREATE TABLE IF NOT EXISTS stream_heads (
    org_id uuid   PRIMARY KEY REFERENCES organizations ON DELETE CASCADE,
    ms     bigint NOT NULL,
    seq    bigint NOT NULL
) WITH (fillfactor = 50);

-- What happened to incidents, for channels and streams alike. No reference to incidents or checks:
-- events outlive both. envelope is text because it must never change by a byte.
CREATE TABLE IF NOT EXISTS events (
    org_id      uuid        NOT NULL REFERENCES organizations ON DELETE CASCADE,
    ms          bigint      NOT NULL,
    seq         bigint      NOT NULL,
    id          uuid        NOT NULL,
    type        text        NOT NULL,
    incident_id uuid        NOT NULL,
    check_id    uuid        NOT NULL,
    time        timestamptz NOT NULL,
    envelope    text        NOT NULL,
    title       text        NOT NULL,
    body        text        NOT NULL,
    variables   jsonb       NOT NULL,
    PRIMARY KEY (org_id, ms, seq)
);
CREATE UNIQUE INDEX IF NOT EXISTS events_id_key ON events (id);
CREATE INDEX IF NOT EXISTS events_incident_idx ON events (incident_id);
CREATE INDEX IF NOT EXISTS events_time_idx ON events (time);
