-- SPDX-License-Identifier: Apache-2.0

DROP TABLE IF EXISTS report_schedules;
