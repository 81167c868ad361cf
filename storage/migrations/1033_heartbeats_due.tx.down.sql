-- SPDX-License-Identifier: Apache-2.0

DROP INDEX IF EXISTS check_regions_heartbeat_due_idx;
DROP INDEX IF EXISTS check_regions_due_idx;
CREATE INDEX IF NOT EXISTS check_regions_due_idx ON check_regions (next_due) WHERE active;
