-- SPDX-License-Identifier: Apache-2.0

DROP TABLE IF EXISTS events;
DROP TABLE IF EXISTS stream_heads;
