-- SPDX-License-Identifier: Apache-2.0

-- Half of the heartbeats whose jobs ping in time are due at any time: a ping may come until the next slot, and longer. They
-- are found by when they are late, which is the time from the slot on that loops keep for a result; check_regions_due_idx has
-- all other loops.
DROP INDEX IF EXISTS check_regions_due_idx;
CREATE INDEX IF NOT EXISTS check_regions_due_idx ON check_regions (next_due) WHERE active AND region <> 'heartbeat';
CREATE INDEX IF NOT EXISTS check_regions_heartbeat_due_idx
    ON check_regions (((extract(epoch FROM next_due AT TIME ZONE 'UTC') * 1000)::bigint + deadline_ms))
    WHERE active AND region = 'heartbeat';
