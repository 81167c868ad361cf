DROP TABLE IF EXISTS maintenance_occurrences;
DROP TABLE IF EXISTS maintenance_windows;
