-- SPDX-License-Identifier: Apache-2.0

-- Which control processes live. A process renews one row for all of its shards of the sweep, twice
-- a second. Its term is the time for which it has renewed without a gap. By renewals a renewal sees
-- that another one of the same process has overtaken it. Stamped by the database's clock.
CREATE TABLE IF NOT EXISTS sweep_processes (
    name       text        PRIMARY KEY,
    expires_at timestamptz NOT NULL,
    term       uuid        NOT NULL DEFAULT gen_random_uuid(),
    renewals   bigint      NOT NULL DEFAULT 1
) WITH (fillfactor = 50);

-- Which of them does the work of each shard of the sweep: 0 to 15 are the checks by their ID, 16 is
-- what is not split. A shard names the term that it belongs to; one whose term has ended, or that
-- names none, is free. The fence grows whenever a shard changes hands.
CREATE TABLE IF NOT EXISTS sweep_leases (
    shard smallint PRIMARY KEY,
    fence bigint   NOT NULL DEFAULT 0,
    term  uuid
) WITH (fillfactor = 50);
INSERT INTO sweep_leases (shard) SELECT n FROM generate_series(0, 16) AS n ON CONFLICT DO NOTHING;

-- Temporal's store counts as a new generation whenever it has lost its workflows; 0 until the first
-- one is known. lost_at is when the last loss was noticed. The epoch is a number that is written
-- here and to Temporal every few seconds: where they differ, one of the two stores was restored
-- from a backup. Temporal has this one, or an older one down to epoch_floor.
CREATE TABLE IF NOT EXISTS temporal_generation (
    one_row     boolean     PRIMARY KEY DEFAULT true CHECK (one_row),
    generation  bigint      NOT NULL DEFAULT 0,
    lost_at     timestamptz NOT NULL DEFAULT '-infinity',
    epoch       bigint      NOT NULL DEFAULT 1,
    epoch_floor bigint      NOT NULL DEFAULT 0,
    epoch_at    timestamptz NOT NULL DEFAULT '-infinity'
);
INSERT INTO temporal_generation DEFAULT VALUES ON CONFLICT DO NOTHING;

-- When this database was found to be restored from a backup, or an operator said so.
CREATE TABLE IF NOT EXISTS restores (
    at     timestamptz PRIMARY KEY DEFAULT clock_timestamp(),
    reason text        NOT NULL
);

-- Which set of secret members the stored configs are sealed for. SQL cannot seal: a process that
-- has the key does, when it starts, and records it here.
CREATE TABLE IF NOT EXISTS config_sealing (
    one_row     boolean     PRIMARY KEY DEFAULT true CHECK (one_row),
    fingerprint text        NOT NULL,
    sealed_at   timestamptz NOT NULL
);

-- Since when processes of the platform encrypt what Temporal stores. Histories keep what was
-- encrypted after it was switched off, so the row stays.
CREATE TABLE IF NOT EXISTS payload_encryption (
    one_row boolean     PRIMARY KEY DEFAULT true CHECK (one_row),
    since   timestamptz NOT NULL
);

-- Why private addresses are refused as targets although the settings permit them: the API writes
-- it for the workers when it notices a proxy. Without a row they are not refused.
CREATE TABLE IF NOT EXISTS private_targets (
    one_row   boolean     PRIMARY KEY DEFAULT true CHECK (one_row),
    closed_at timestamptz NOT NULL,
    reason    text        NOT NULL
);
