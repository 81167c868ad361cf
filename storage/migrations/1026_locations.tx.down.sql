-- SPDX-License-Identifier: Apache-2.0

ALTER TABLE results DROP COLUMN IF EXISTS late;
ALTER TABLE check_regions DROP COLUMN IF EXISTS worker_region;
DROP TABLE IF EXISTS agent_tasks;
DROP TABLE IF EXISTS agent_results;
DROP TABLE IF EXISTS agents;
DROP TABLE IF EXISTS locations;
