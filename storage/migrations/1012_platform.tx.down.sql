-- SPDX-License-Identifier: Apache-2.0

DROP TABLE IF EXISTS private_targets;
DROP TABLE IF EXISTS payload_encryption;
DROP TABLE IF EXISTS config_sealing;
DROP TABLE IF EXISTS restores;
DROP TABLE IF EXISTS temporal_generation;
DROP TABLE IF EXISTS sweep_leases;
DROP TABLE IF EXISTS sweep_processes;
