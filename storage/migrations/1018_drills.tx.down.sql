-- SPDX-License-Identifier: Apache-2.0

DROP TABLE IF EXISTS signing_keys;
DELETE FROM checks WHERE type = 'drill';
DROP TABLE IF EXISTS drills;
ALTER TABLE check_regions DROP COLUMN IF EXISTS applied_at;
DROP INDEX IF EXISTS checks_drill_idx;
ALTER TABLE alert_rules DROP COLUMN IF EXISTS drill_id;
ALTER TABLE checks DROP COLUMN IF EXISTS drill_id;
