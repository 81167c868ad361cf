-- How many slots a turn of the loop covered when its last result was stored.
ALTER TABLE check_regions ADD COLUMN IF NOT EXISTS turn_slots integer NOT NULL DEFAULT 0;
