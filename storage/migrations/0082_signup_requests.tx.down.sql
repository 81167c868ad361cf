DROP TABLE IF EXISTS signup_requests;
