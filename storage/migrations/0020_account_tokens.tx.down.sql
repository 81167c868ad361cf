DROP TABLE IF EXISTS login_attempts;
DROP TABLE IF EXISTS account_tokens;
