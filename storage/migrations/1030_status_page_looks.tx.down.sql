-- SPDX-License-Identifier: Apache-2.0

DROP TABLE IF EXISTS status_page_logos;
DROP INDEX IF EXISTS status_pages_host_key;
ALTER TABLE status_pages
    DROP COLUMN IF EXISTS accent,
    DROP COLUMN IF EXISTS host,
    DROP COLUMN IF EXISTS host_verified_at,
    DROP COLUMN IF EXISTS response_times,
    DROP COLUMN IF EXISTS subscriptions,
    DROP COLUMN IF EXISTS password_hash;
