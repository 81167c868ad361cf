-- SPDX-License-Identifier: Apache-2.0

DROP TABLE IF EXISTS status_page_checks;
DROP TABLE IF EXISTS status_pages;
