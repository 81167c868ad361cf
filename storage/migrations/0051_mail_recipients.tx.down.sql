DROP TABLE IF EXISTS mail_recipients;
