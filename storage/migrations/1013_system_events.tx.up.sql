-- SPDX-License-Identifier: Apache-2.0

-- Deliveries that are about no incident have none with which they are deleted: those of checks that
-- are not probed, and of system events.
DROP INDEX IF EXISTS deliveries_unobserved_idx;
CREATE INDEX IF NOT EXISTS deliveries_no_incident_idx ON deliveries (check_id, finished_at)
    WHERE event_type NOT LIKE 'incident.%';
