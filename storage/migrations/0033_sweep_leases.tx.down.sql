DROP INDEX IF EXISTS check_regions_generation_idx;
ALTER TABLE IF EXISTS check_regions DROP COLUMN IF EXISTS generation;
DROP TABLE IF EXISTS temporal_generation;
DROP TABLE IF EXISTS sweep_leases;
DROP TABLE IF EXISTS sweep_processes;
