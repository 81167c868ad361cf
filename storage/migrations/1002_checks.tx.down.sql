-- SPDX-License-Identifier: Apache-2.0

DROP TABLE IF EXISTS running_tests;
DROP TABLE IF EXISTS check_trials;
DROP TABLE IF EXISTS check_creations;
DROP TABLE IF EXISTS checks;
