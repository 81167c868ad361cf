-- What made the rules of a vote fire, with the slot that it is about. NULL when the
-- vote does not say: it was stored before this column, or nothing fires.
ALTER TABLE region_votes ADD COLUMN IF NOT EXISTS matches jsonb;
