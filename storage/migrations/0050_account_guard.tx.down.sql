DROP INDEX IF EXISTS api_keys_end_idx;
ALTER TABLE api_keys DROP COLUMN IF EXISTS end_mailed_at, DROP COLUMN IF EXISTS end_claimed_at;
DELETE FROM account_tokens WHERE purpose = 'change';
ALTER TABLE account_tokens DROP CONSTRAINT IF EXISTS account_tokens_purpose_check;
ALTER TABLE account_tokens ADD CONSTRAINT account_tokens_purpose_check CHECK (purpose IN ('verify', 'recover'));
ALTER TABLE account_tokens DROP COLUMN IF EXISTS new_email, DROP COLUMN IF EXISTS approved;
ALTER TABLE users DROP COLUMN IF EXISTS created_address;
