-- SPDX-License-Identifier: Apache-2.0

DROP TABLE IF EXISTS region_edges;
DROP TABLE IF EXISTS region_votes;
DROP TABLE IF EXISTS alert_rules;
