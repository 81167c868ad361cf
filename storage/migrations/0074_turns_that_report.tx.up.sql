-- The slots from the state with which the turn began that reported the vote and went on, to the
-- vote. When such a turn is lost, its loop is older than the vote, as after a restore of
-- Temporal. Another upper bound than the slot is that of an earlier vote.
ALTER TABLE region_votes
    ADD COLUMN IF NOT EXISTS turn tstzrange;
