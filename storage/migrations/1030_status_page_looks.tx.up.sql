-- SPDX-License-Identifier: Apache-2.0

-- accent is a color such as #3a4cc8, empty for that of the style. host is the name under which the page
-- is served at /, once DNS has shown that it may be: only then no one else's page can have it.
-- password_hash is empty for a page that everybody may read.
ALTER TABLE status_pages
    ADD COLUMN IF NOT EXISTS accent           text    NOT NULL DEFAULT '',
    ADD COLUMN IF NOT EXISTS host             text    NOT NULL DEFAULT '',
    ADD COLUMN IF NOT EXISTS host_verified_at timestamptz,
    ADD COLUMN IF NOT EXISTS response_times   boolean NOT NULL DEFAULT false,
    ADD COLUMN IF NOT EXISTS subscriptions    boolean NOT NULL DEFAULT false,
    ADD COLUMN IF NOT EXISTS password_hash    text    NOT NULL DEFAULT '';
CREATE UNIQUE INDEX IF NOT EXISTS status_pages_host_key ON status_pages (host) WHERE host_verified_at IS NOT NULL;

-- The picture at the top of a page, as it is sent.
CREATE TABLE IF NOT EXISTS status_page_logos (
    page_id    uuid  PRIMARY KEY REFERENCES status_pages ON DELETE CASCADE,
    media_type text  NOT NULL,
    image      bytea NOT NULL
);
