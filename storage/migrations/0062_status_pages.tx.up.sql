-- Public pages about chosen checks. The names of groups are in their order; a check names
-- its group by the index, from 0. A deleted check leaves its pages.
CREATE TABLE IF NOT EXISTS status_pages (
    id         uuid        PRIMARY KEY,
    org_id     uuid        NOT NULL REFERENCES organizations ON DELETE CASCADE,
    slug       text        NOT NULL,
    title      text        NOT NULL,
    groups     text[]      NOT NULL,
    noindex    boolean     NOT NULL,
    enabled    boolean     NOT NULL,
    version    bigint      NOT NULL DEFAULT 1,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL
);
CREATE UNIQUE INDEX IF NOT EXISTS status_pages_slug_key ON status_pages (slug);
CREATE INDEX IF NOT EXISTS status_pages_newest_idx ON status_pages (org_id, created_at DESC, id DESC);

CREATE TABLE IF NOT EXISTS status_page_checks (
    page_id  uuid    NOT NULL REFERENCES status_pages ON DELETE CASCADE,
    check_id uuid    NOT NULL REFERENCES checks ON DELETE CASCADE,
    in_group integer NOT NULL,
    place    integer NOT NULL,
    name     text    NOT NULL,
    PRIMARY KEY (page_id, check_id)
);
CREATE INDEX IF NOT EXISTS status_page_checks_check_idx ON status_page_checks (check_id);
