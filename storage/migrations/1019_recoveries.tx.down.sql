-- SPDX-License-Identifier: Apache-2.0

DROP TABLE IF EXISTS recovery_items;
DROP TABLE IF EXISTS recoveries;
