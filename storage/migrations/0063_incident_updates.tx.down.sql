DROP TABLE IF EXISTS incident_updates;
