-- SPDX-License-Identifier: Apache-2.0

-- When the platform looked after the schedule of drills that the operator's organization has by default:
-- it is made once, also where it is deleted afterwards. NULL: not yet.
ALTER TABLE organizations ADD COLUMN IF NOT EXISTS default_drills_at timestamptz;
