-- SPDX-License-Identifier: Apache-2.0

-- What the receiver calls the message that arrived, by which the end of an incident edits it or
-- answers it; empty where the receiver does not say it.
ALTER TABLE deliveries ADD COLUMN IF NOT EXISTS reference text NOT NULL DEFAULT '';
