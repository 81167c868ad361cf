-- SPDX-License-Identifier: Apache-2.0

-- Who asked to be notified what a page says. address is a mail address in lower case, or empty for a webhook,
-- whose address and secret are sealed in config. digest is of the type and address, so that one asks once.
-- Tokens of links are signatures, so none is stored. A reader who unsubscribes is deleted.
CREATE TABLE IF NOT EXISTS status_page_readers (
    id           uuid        PRIMARY KEY,
    org_id       uuid        NOT NULL REFERENCES organizations ON DELETE CASCADE,
    page_id      uuid        NOT NULL REFERENCES status_pages ON DELETE CASCADE,
    type         text        NOT NULL CHECK (type IN ('email', 'webhook')),
    address      text        NOT NULL DEFAULT '',
    host         text        NOT NULL DEFAULT '',
    config       jsonb       NOT NULL DEFAULT '{}',
    digest       bytea       NOT NULL,
    created_at   timestamptz NOT NULL,
    asked_at     timestamptz NOT NULL,
    confirmed_at timestamptz,
    UNIQUE (page_id, digest)
);
CREATE INDEX IF NOT EXISTS status_page_readers_org_idx ON status_page_readers (org_id) WHERE confirmed_at IS NOT NULL;
CREATE INDEX IF NOT EXISTS status_page_readers_open_idx ON status_page_readers (asked_at) WHERE confirmed_at IS NULL;

-- What a page notifies its readers, each once: key says what it is about. at is when it happened.
CREATE TABLE IF NOT EXISTS status_page_notes (
    id         uuid        PRIMARY KEY,
    page_id    uuid        NOT NULL REFERENCES status_pages ON DELETE CASCADE,
    key        text        NOT NULL,
    kind       text        NOT NULL,
    title      text        NOT NULL,
    body       text        NOT NULL,
    at         timestamptz NOT NULL,
    created_at timestamptz NOT NULL,
    UNIQUE (page_id, key)
);
CREATE INDEX IF NOT EXISTS status_page_notes_created_idx ON status_page_notes (created_at);

-- A note to a reader. handed_at is when an attempt began to hand the message over: without an outcome
-- it may have arrived, and it is not sent again.
CREATE TABLE IF NOT EXISTS status_page_messages (
    note_id         uuid        NOT NULL REFERENCES status_page_notes ON DELETE CASCADE,
    reader_id       uuid        NOT NULL REFERENCES status_page_readers ON DELETE CASCADE,
    status          text        NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'delivered', 'failed', 'unknown')),
    attempts        integer     NOT NULL DEFAULT 0,
    at              timestamptz NOT NULL,
    next_attempt_at timestamptz NOT NULL,
    claimed_at      timestamptz,
    handed_at       timestamptz,
    finished_at     timestamptz,
    error           text        NOT NULL DEFAULT '',
    PRIMARY KEY (note_id, reader_id)
);
CREATE INDEX IF NOT EXISTS status_page_messages_due_idx ON status_page_messages (next_attempt_at) WHERE status = 'pending';
CREATE INDEX IF NOT EXISTS status_page_messages_reader_idx ON status_page_messages (reader_id, at);
