DROP INDEX IF EXISTS check_regions_region_idx;
ALTER TABLE running_tests DROP COLUMN IF EXISTS region;
