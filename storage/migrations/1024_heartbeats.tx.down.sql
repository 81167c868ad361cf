-- SPDX-License-Identifier: Apache-2.0

DROP TABLE IF EXISTS ping_spans;
DROP TABLE IF EXISTS ping_answers;
DROP TABLE IF EXISTS pings;
DROP TABLE IF EXISTS heartbeats;
ALTER TABLE check_regions DROP COLUMN IF EXISTS timezone;
ALTER TABLE check_regions DROP COLUMN IF EXISTS cron;
