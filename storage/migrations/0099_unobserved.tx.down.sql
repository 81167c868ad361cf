DROP INDEX IF EXISTS check_regions_due_idx;
