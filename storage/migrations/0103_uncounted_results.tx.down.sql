DROP TABLE IF EXISTS uncounted_results;
