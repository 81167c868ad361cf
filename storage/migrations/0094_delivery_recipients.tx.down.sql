ALTER TABLE attempts
    DROP COLUMN IF EXISTS recipients,
    DROP COLUMN IF EXISTS reached;
DROP TABLE IF EXISTS delivery_recipients;
