-- SPDX-License-Identifier: Apache-2.0

DROP INDEX IF EXISTS deliveries_no_incident_idx;
CREATE INDEX IF NOT EXISTS deliveries_unobserved_idx ON deliveries (check_id, finished_at)
    WHERE event_type IN ('check.unobserved', 'check.observed');
