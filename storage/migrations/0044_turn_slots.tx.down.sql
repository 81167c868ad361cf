ALTER TABLE check_regions DROP COLUMN IF EXISTS turn_slots;
