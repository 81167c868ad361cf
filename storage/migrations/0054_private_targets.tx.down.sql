DROP TABLE IF EXISTS private_targets;
