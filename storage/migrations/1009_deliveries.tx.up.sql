-- SPDX-License-Identifier: Apache-2.0

-- One event on its way to one channel. The channel may be gone. body is what was sent when it
-- differs from the event's envelope, kept so that every attempt sends the same. policy is how the
-- delivery is attempted, and what the end of its incident does to it, frozen when it is created.
-- No reference to incidents: the messages about the end of a deleted check's incident outlive it,
-- and are sent from what they and their event contain; orphaned: the incident is gone. address
-- numbers the messages that one channel gets of an event, see delivery_addresses.
CREATE TABLE IF NOT EXISTS deliveries (
    id              uuid        PRIMARY KEY,
    org_id          uuid        NOT NULL REFERENCES organizations ON DELETE CASCADE,
    event_id        uuid        NOT NULL,
    event_type      text        NOT NULL,
    incident_id     uuid        NOT NULL,
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
    policy          jsonb       NOT NULL,
    trace_id        text        NOT NULL DEFAULT '',
    orphaned        boolean     NOT NULL DEFAULT false,
    address         integer     NOT NULL DEFAULT 0,
    CHECK ((status = 'pending') = (finished_at IS NULL))
);
CREATE UNIQUE INDEX IF NOT EXISTS deliveries_event_key ON deliveries (event_id, channel_id, address);
CREATE INDEX IF NOT EXISTS deliveries_outbox_idx ON deliveries (incident_id, channel_id);
CREATE INDEX IF NOT EXISTS deliveries_newest_idx ON deliveries (org_id, created_at DESC, id DESC);
CREATE INDEX IF NOT EXISTS deliveries_channel_idx ON deliveries (channel_id, created_at DESC, id DESC);
CREATE INDEX IF NOT EXISTS deliveries_sweep_idx ON deliveries (swept_at) WHERE status = 'pending' OR redeliver;
CREATE INDEX IF NOT EXISTS deliveries_orphaned_idx ON deliveries (finished_at) WHERE orphaned;
-- These deliveries have no incident with which they are deleted.
CREATE INDEX IF NOT EXISTS deliveries_unobserved_idx ON deliveries (check_id, finished_at)
    WHERE event_type IN ('check.unobserved', 'check.observed');

-- One try to deliver, on record before anything is sent. recipients is how many recipients the
-- attempt was for, and reached how many of them it reached.
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
    recipients      integer     NOT NULL DEFAULT 0,
    reached         integer     NOT NULL DEFAULT 0,
    UNIQUE (delivery_id, number)
);
CREATE INDEX IF NOT EXISTS attempts_flying_idx ON attempts (channel_id) WHERE finished_at IS NULL;
CREATE INDEX IF NOT EXISTS attempts_started_idx ON attempts (started_at);

-- Where the attempts of an opening went, for channels whose recovery must go there too: the sealed
-- config of the channel, once for each address. When the incident ends, each row belongs to a
-- delivery of the recovery, and address numbers these.
CREATE TABLE IF NOT EXISTS delivery_addresses (
    id          uuid        PRIMARY KEY,
    delivery_id uuid        NOT NULL REFERENCES deliveries ON DELETE CASCADE,
    channel_id  uuid        NOT NULL REFERENCES channels ON DELETE CASCADE,
    type        text        NOT NULL,
    config      jsonb       NOT NULL,
    created_at  timestamptz NOT NULL
);
CREATE INDEX IF NOT EXISTS delivery_addresses_delivery_idx ON delivery_addresses (delivery_id);
CREATE INDEX IF NOT EXISTS delivery_addresses_channel_idx ON delivery_addresses (channel_id);
CREATE INDEX IF NOT EXISTS delivery_addresses_created_idx ON delivery_addresses (created_at);

-- What became of a mail for each recipient of its delivery, by lower-case address, so that none
-- gets it twice. unknown is written before the content is handed over: the server may have taken it.
-- counted: the quotas of mails have counted it.
CREATE TABLE IF NOT EXISTS delivery_recipients (
    delivery_id  uuid        NOT NULL REFERENCES deliveries ON DELETE CASCADE,
    address      text        NOT NULL,
    spelling     text        NOT NULL,
    status       text        NOT NULL CHECK (status IN (
        'pending', 'delivered', 'failed', 'refused', 'unknown', 'unconfirmed', 'unsubscribed', 'removed'
    )),
    counted      boolean     NOT NULL DEFAULT false,
    attempts     integer     NOT NULL DEFAULT 0,
    status_code  integer     NOT NULL DEFAULT 0,
    error_code   text        NOT NULL DEFAULT '',
    error        text        NOT NULL DEFAULT '',
    attempted_at timestamptz,
    delivered_at timestamptz,
    PRIMARY KEY (delivery_id, address)
);

-- Who waits for a place among the attempts in flight of an organization and a channel, and who
-- holds one: admitted_at is NULL while it waits. The table is small: a row goes when the attempt
-- has an outcome.
CREATE TABLE IF NOT EXISTS delivery_places (
    incident_id uuid        NOT NULL,
    channel_id  uuid        NOT NULL,
    org_id      uuid        NOT NULL,
    -- The order of arrival. It is assigned under the organization's lock.
    position    bigint      NOT NULL GENERATED ALWAYS AS IDENTITY,
    queued_at   timestamptz NOT NULL,
    admitted_at timestamptz,
    PRIMARY KEY (incident_id, channel_id)
);
CREATE INDEX IF NOT EXISTS delivery_places_waiting_idx ON delivery_places (org_id, channel_id, position) WHERE admitted_at IS NULL;
CREATE INDEX IF NOT EXISTS delivery_places_held_idx ON delivery_places (org_id, admitted_at) WHERE admitted_at IS NOT NULL;
