-- SPDX-License-Identifier: Apache-2.0

DROP INDEX IF EXISTS checks_slug_idx;
DROP TABLE IF EXISTS ping_keys;
