-- SPDX-License-Identifier: Apache-2.0

DROP INDEX IF EXISTS drills_schedule_idx;
ALTER TABLE drills DROP COLUMN IF EXISTS schedule_id;
DROP TABLE IF EXISTS drill_schedules;
