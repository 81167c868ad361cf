-- A key with fewer scopes or with an end would get all of them without an end.
DELETE FROM api_keys WHERE expires_at IS NOT NULL OR NOT scopes @> '{read,respond,write,admin}';
ALTER TABLE api_keys DROP COLUMN IF EXISTS scopes, DROP COLUMN IF EXISTS expires_at;
