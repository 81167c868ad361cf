-- SPDX-License-Identifier: Apache-2.0

DROP TABLE IF EXISTS late_incidents;
DROP TABLE IF EXISTS late_spans;
ALTER TABLE results DROP COLUMN IF EXISTS late;
ALTER TABLE check_regions DROP COLUMN IF EXISTS worker_region;
DROP TABLE IF EXISTS agent_tasks;
DROP TABLE IF EXISTS agent_results;
DROP TABLE IF EXISTS agents;
DROP TABLE IF EXISTS locations;
