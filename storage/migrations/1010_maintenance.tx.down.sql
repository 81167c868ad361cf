-- SPDX-License-Identifier: Apache-2.0

DROP TABLE IF EXISTS maintenance_holds;
DROP TABLE IF EXISTS maintenance_occurrences;
DROP TABLE IF EXISTS maintenance_windows;
