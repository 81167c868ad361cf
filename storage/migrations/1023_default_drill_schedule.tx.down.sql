-- SPDX-License-Identifier: Apache-2.0

ALTER TABLE organizations DROP COLUMN IF EXISTS default_drills_at;
