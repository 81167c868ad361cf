-- What an API key may do, and until when. A key of an older version may do everything.
ALTER TABLE api_keys
    ADD COLUMN IF NOT EXISTS scopes text[] NOT NULL DEFAULT '{read,respond,write,admin}',
    ADD COLUMN IF NOT EXISTS expires_at timestamptz;
