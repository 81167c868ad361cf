-- SPDX-License-Identifier: Apache-2.0

DROP TABLE IF EXISTS worker_leases;
DROP SEQUENCE IF EXISTS worker_lease_fences;
DROP TABLE IF EXISTS loop_tombstones;
DROP TABLE IF EXISTS check_regions;
