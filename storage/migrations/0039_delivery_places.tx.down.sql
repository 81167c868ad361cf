DROP TABLE IF EXISTS incident_texts;
DROP TABLE IF EXISTS delivery_places;
