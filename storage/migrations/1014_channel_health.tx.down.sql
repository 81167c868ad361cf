-- SPDX-License-Identifier: Apache-2.0

ALTER TABLE deliveries DROP COLUMN IF EXISTS fallback_for;
DROP INDEX IF EXISTS channels_fallback_idx;
ALTER TABLE channels DROP COLUMN IF EXISTS fallback_channel_id;
DROP TABLE IF EXISTS channel_notices;
DROP TABLE IF EXISTS channel_health;
