-- SPDX-License-Identifier: Apache-2.0

ALTER TABLE deliveries DROP COLUMN IF EXISTS reference;
