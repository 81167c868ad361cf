-- SPDX-License-Identifier: Apache-2.0

DROP INDEX IF EXISTS channels_overlap_idx;
ALTER TABLE channels DROP COLUMN IF EXISTS secret_overlap_ends_at;
ALTER TABLE channels DROP COLUMN IF EXISTS former_secret;
