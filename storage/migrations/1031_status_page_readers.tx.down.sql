-- SPDX-License-Identifier: Apache-2.0

DROP TABLE IF EXISTS status_page_messages;
DROP TABLE IF EXISTS status_page_notes;
DROP TABLE IF EXISTS status_page_readers;
