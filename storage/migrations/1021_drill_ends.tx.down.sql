-- SPDX-License-Identifier: Apache-2.0

DROP TABLE IF EXISTS channel_drills;
DROP INDEX IF EXISTS drills_notice_idx;
ALTER TABLE drills DROP COLUMN IF EXISTS notice_claimed_at;
ALTER TABLE drills DROP COLUMN IF EXISTS notice_due_at;
DELETE FROM alert_rules WHERE cardinality(channel_ids) = 0;
ALTER TABLE alert_rules ADD CONSTRAINT alert_rules_channel_ids_check CHECK (cardinality(channel_ids) > 0);
