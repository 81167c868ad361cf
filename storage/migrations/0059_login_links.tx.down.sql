DROP TABLE IF EXISTS login_links;
