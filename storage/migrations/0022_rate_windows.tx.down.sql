DROP TABLE IF EXISTS rate_windows;
