-- SPDX-License-Identifier: Apache-2.0

-- What the receiver calls the message, so that the end of an incident edits or answers its beginning.
ALTER TABLE deliveries ADD COLUMN IF NOT EXISTS reference text NOT NULL DEFAULT '';
