-- A worker polls for a region once the region is in use: it has loops, or a test by hand
-- asks for it. A dry run may ask for a region that has no loops.
CREATE INDEX IF NOT EXISTS check_regions_region_idx ON check_regions (region);
ALTER TABLE running_tests ADD COLUMN IF NOT EXISTS region text NOT NULL DEFAULT '';
