-- SPDX-License-Identifier: Apache-2.0

-- The secret that signed a webhook's messages before it was rotated, which signs beside the new one
-- until secret_overlap_ends_at. It is an object with the member secret, sealed as config is. Both
-- are NULL outside of an overlap; the housekeeping erases what is left of one that is over.
ALTER TABLE channels ADD COLUMN IF NOT EXISTS former_secret jsonb;
ALTER TABLE channels ADD COLUMN IF NOT EXISTS secret_overlap_ends_at timestamptz;
CREATE INDEX IF NOT EXISTS channels_overlap_idx ON channels (secret_overlap_ends_at) WHERE secret_overlap_ends_at IS NOT NULL;
