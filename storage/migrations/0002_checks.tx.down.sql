DROP TABLE IF EXISTS check_creations;
DROP TABLE IF EXISTS loop_tombstones;
DROP TABLE IF EXISTS check_regions;
DROP TABLE IF EXISTS checks;
