-- SPDX-License-Identifier: Apache-2.0

DROP TABLE IF EXISTS delivery_places;
DROP TABLE IF EXISTS delivery_recipients;
DROP TABLE IF EXISTS delivery_addresses;
DROP TABLE IF EXISTS attempts;
DROP TABLE IF EXISTS deliveries;
