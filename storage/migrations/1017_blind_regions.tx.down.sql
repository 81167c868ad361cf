-- SPDX-License-Identifier: Apache-2.0

DROP TABLE IF EXISTS blind_organizations;
DROP TABLE IF EXISTS blind_regions;
ALTER TABLE worker_leases DROP COLUMN IF EXISTS blind_since;
