-- The loops by when their next result is due: the sweep reads those that are late, and lists
-- those that are not probed. Every result moves its entry.
CREATE INDEX IF NOT EXISTS check_regions_due_idx ON check_regions (next_due) WHERE active;
