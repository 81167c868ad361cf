DROP TABLE IF EXISTS payload_encryption;
