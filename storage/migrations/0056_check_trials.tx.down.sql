DROP TABLE IF EXISTS check_trials;
