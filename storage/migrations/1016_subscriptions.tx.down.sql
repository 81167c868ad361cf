-- SPDX-License-Identifier: Apache-2.0

ALTER TABLE unobserved_checks DROP COLUMN IF EXISTS audience;
DROP TABLE IF EXISTS subscriptions;
