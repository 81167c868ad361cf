DROP TABLE IF EXISTS config_sealing;
