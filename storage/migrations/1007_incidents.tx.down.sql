-- SPDX-License-Identifier: Apache-2.0

DROP TABLE IF EXISTS unobserved_channels;
DROP TABLE IF EXISTS unobserved_checks;
DROP TABLE IF EXISTS incident_updates;
DROP TABLE IF EXISTS incident_texts;
DROP TABLE IF EXISTS incidents;
