-- SPDX-License-Identifier: Apache-2.0

DROP TABLE IF EXISTS mail_quotas;
DROP TABLE IF EXISTS mail_recipients;
DROP TABLE IF EXISTS channels;
