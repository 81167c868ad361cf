-- From where an account was made; empty when that is not known.
ALTER TABLE users ADD COLUMN IF NOT EXISTS created_address text NOT NULL DEFAULT '';
UPDATE users SET created_address = a.address FROM audit_log AS a
    WHERE a.user_id = users.id AND a.action = 'account.signup' AND users.created_address = '';

-- A link that is mailed to the present address of an account when another one is
-- requested: it stops the change and, unless approved, allows it.
ALTER TABLE account_tokens
    ADD COLUMN IF NOT EXISTS new_email text NOT NULL DEFAULT '',
    ADD COLUMN IF NOT EXISTS approved boolean NOT NULL DEFAULT true;
ALTER TABLE account_tokens DROP CONSTRAINT IF EXISTS account_tokens_purpose_check;
ALTER TABLE account_tokens
    ADD CONSTRAINT account_tokens_purpose_check CHECK (purpose IN ('verify', 'recover', 'change'));

-- When the owner of a key was mailed that it ends soon, and when a process began to.
ALTER TABLE api_keys
    ADD COLUMN IF NOT EXISTS end_mailed_at timestamptz,
    ADD COLUMN IF NOT EXISTS end_claimed_at timestamptz;
CREATE INDEX IF NOT EXISTS api_keys_end_idx ON api_keys (expires_at) WHERE expires_at IS NOT NULL AND end_mailed_at IS NULL;
