-- SPDX-License-Identifier: Apache-2.0

DROP TABLE IF EXISTS rate_windows;
DROP TABLE IF EXISTS idempotency_keys;
DROP TABLE IF EXISTS audit_log;
DROP TABLE IF EXISTS signup_requests;
DROP TABLE IF EXISTS signups;
DROP TABLE IF EXISTS invitations;
DROP TABLE IF EXISTS sessions;
DROP TABLE IF EXISTS login_links;
DROP TABLE IF EXISTS login_attempts;
DROP TABLE IF EXISTS account_tokens;
DROP TABLE IF EXISTS api_keys;
DROP TABLE IF EXISTS users;
DROP TABLE IF EXISTS organizations;
