-- Which worker serves which region, renewed about once a second by the
-- database's clock.
CREATE TABLE IF NOT EXISTS worker_leases (
    worker     text        NOT NULL,
    region     text        NOT NULL,
    renewed_at timestamptz NOT NULL,
    PRIMARY KEY (worker, region)
) WITH (fillfactor = 50);
