-- SPDX-License-Identifier: Apache-2.0

DROP TABLE IF EXISTS uncounted_results;
DROP TABLE IF EXISTS result_rollups;
DROP TABLE IF EXISTS results;
