ALTER TABLE audit_log DROP COLUMN IF EXISTS user_name, DROP COLUMN IF EXISTS user_email;
DROP TABLE IF EXISTS invitations;
-- A version without roles would let every member do everything.
DELETE FROM users WHERE role <> 'owner';
ALTER TABLE users DROP COLUMN IF EXISTS role;
