-- SPDX-License-Identifier: Apache-2.0

-- Public pages about chosen checks. groups are the names of the groups, in their order. managed_* and
-- applied_version are those of checks.
CREATE TABLE IF NOT EXISTS status_pages (
    id              uuid        PRIMARY KEY,
    org_id          uuid        NOT NULL REFERENCES organizations ON DELETE CASCADE,
    slug            text        NOT NULL,
    title           text        NOT NULL,
    groups          text[]      NOT NULL,
    noindex         boolean     NOT NULL,
    enabled         boolean     NOT NULL,
    version         bigint      NOT NULL DEFAULT 1,
    created_at      timestamptz NOT NULL,
    updated_at      timestamptz NOT NULL,
    managed_tool    text,
    managed_project text,
    managed_key     text,
    applied_version bigint      NOT NULL DEFAULT 0
);
CREATE UNIQUE INDEX IF NOT EXISTS status_pages_slug_key ON status_pages (slug);
CREATE INDEX IF NOT EXISTS status_pages_newest_idx ON status_pages (org_id, created_at DESC, id DESC);
CREATE UNIQUE INDEX IF NOT EXISTS status_pages_managed_key ON status_pages (org_id, managed_tool, managed_project, managed_key)
    WHERE managed_tool IS NOT NULL;

-- The checks of a page. in_group is the index of the group of a check, from 0, and place its position
-- in the group. A deleted check leaves its pages.
CREATE TABLE IF NOT EXISTS status_page_checks (
    page_id  uuid    NOT NULL REFERENCES status_pages ON DELETE CASCADE,
    check_id uuid    NOT NULL REFERENCES checks ON DELETE CASCADE,
    in_group integer NOT NULL,
    place    integer NOT NULL,
    name     text    NOT NULL,
    PRIMARY KEY (page_id, check_id)
);
CREATE INDEX IF NOT EXISTS status_page_checks_check_idx ON status_page_checks (check_id);
