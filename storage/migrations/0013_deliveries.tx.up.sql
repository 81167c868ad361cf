-- One event on its way to one channel. The channel may be gone. body is what was
-- sent when it differs from the event's envelope, kept so that every attempt
-- sends the same.
CREATE TABLE IF NOT EXISTS deliveries (
    id              uuid        PRIMARY KEY,
    org_id          uuid        NOT NULL REFERENCES organizations ON DELETE CASCADE,
    event_id        uuid        NOT NULL,
    event_type      text        NOT NULL,
    incident_id     uuid        NOT NULL REFERENCES incidents ON DELETE CASCADE,
    check_id        uuid        NOT NULL,
    channel_id      uuid        NOT NULL,
    channel_type    text        NOT NULL,
    channel_name    text        NOT NULL,
    status          text        NOT NULL CHECK (status IN ('pending', 'delivered', 'exhausted', 'superseded', 'canceled')),
    attempts        integer     NOT NULL DEFAULT 0,
    failures        integer     NOT NULL DEFAULT 0,
    next_attempt_at timestamptz,
    redeliver       boolean     NOT NULL DEFAULT false,
    merged          boolean     NOT NULL DEFAULT false,
    body            text,
    created_at      timestamptz NOT NULL,
    updated_at      timestamptz NOT NULL,
    finished_at     timestamptz,
    swept_at        timestamptz NOT NULL,
    sweep_wait_ms   bigint      NOT NULL DEFAULT 0,
    CHECK ((status = 'pending') = (finished_at IS NULL))
);
CREATE UNIQUE INDEX IF NOT EXISTS deliveries_event_key ON deliveries (event_id, channel_id);
CREATE INDEX IF NOT EXISTS deliveries_outbox_idx ON deliveries (incident_id, channel_id);
CREATE INDEX IF NOT EXISTS deliveries_newest_idx ON deliveries (org_id, created_at DESC, id DESC);
CREATE INDEX IF NOT EXISTS deliveries_channel_idx ON deliveries (channel_id, created_at DESC, id DESC);
CREATE INDEX IF NOT EXISTS deliveries_sweep_idx ON deliveries (swept_at) WHERE status = 'pending' OR redeliver;

-- One try to deliver, on record before anything is sent.
CREATE TABLE IF NOT EXISTS attempts (
    id              uuid        PRIMARY KEY,
    delivery_id     uuid        NOT NULL REFERENCES deliveries ON DELETE CASCADE,
    channel_id      uuid        NOT NULL,
    number          integer     NOT NULL,
    started_at      timestamptz NOT NULL,
    finished_at     timestamptz,
    duration_ms     bigint      NOT NULL DEFAULT 0,
    status_code     integer,
    error_code      text        NOT NULL DEFAULT '',
    error           text        NOT NULL DEFAULT '',
    response_body   text        NOT NULL DEFAULT '',
    next_attempt_at timestamptz,
    manual          boolean     NOT NULL,
    UNIQUE (delivery_id, number)
);
CREATE INDEX IF NOT EXISTS attempts_flying_idx ON attempts (channel_id) WHERE finished_at IS NULL;
CREATE INDEX IF NOT EXISTS attempts_started_idx ON attempts (started_at);
