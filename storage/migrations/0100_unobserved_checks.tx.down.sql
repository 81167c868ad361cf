DROP TABLE IF EXISTS unobserved_checks;
