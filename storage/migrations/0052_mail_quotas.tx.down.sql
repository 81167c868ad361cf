DROP TABLE IF EXISTS mail_quotas;
