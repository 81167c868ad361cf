-- SPDX-License-Identifier: Apache-2.0

-- Since when a worker has no line to the internet, by its clock; null while it has one.
ALTER TABLE worker_leases ADD COLUMN IF NOT EXISTS blind_since timestamptz;

-- The times in which a region is blind: a live worker of it has no line.
CREATE TABLE IF NOT EXISTS blind_regions (
    id       uuid        PRIMARY KEY DEFAULT gen_random_uuid(),
    region   text        NOT NULL,
    since    timestamptz NOT NULL,
    ended_at timestamptz
);
CREATE UNIQUE INDEX IF NOT EXISTS blind_regions_open_idx ON blind_regions (region) WHERE ended_at IS NULL;
CREATE INDEX IF NOT EXISTS blind_regions_ended_idx ON blind_regions (ended_at) WHERE ended_at IS NOT NULL;

-- The organizations that had enabled checks there when such a time began, and whether the events of
-- its beginning and its end are stored.
CREATE TABLE IF NOT EXISTS blind_organizations (
    blind_id uuid    NOT NULL REFERENCES blind_regions ON DELETE CASCADE,
    org_id   uuid    NOT NULL REFERENCES organizations ON DELETE CASCADE,
    begun    boolean NOT NULL DEFAULT false,
    ended    boolean NOT NULL DEFAULT false,
    PRIMARY KEY (blind_id, org_id)
);
CREATE INDEX IF NOT EXISTS blind_organizations_org_idx ON blind_organizations (org_id);
CREATE INDEX IF NOT EXISTS blind_organizations_open_idx ON blind_organizations (blind_id) WHERE NOT ended;
