// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// readsData is what a database is filled with: most results belong to a few checks that
// have run each minute for 90 days, so that pages lie deep; some checks run once a day,
// so that their results are in many partitions; the others have run each minute lately.
type readsData struct {
	results, checks int
	now             time.Time
	org             uuid.UUID

	dense, daily int           // numbers of these checks; the dense ones come first
	recent       time.Duration // how long the others have run
}

const (
	readsDays   = 90
	readsRegion = "na-east-ewr"
	denseShare  = 0.65 // of the results
)

func newReadsData(o ReadOptions, org uuid.UUID) *readsData {
	d := &readsData{results: o.Results, checks: o.Checks, now: time.Now().UTC().Truncate(time.Minute), org: org}
	perDense := readsDays * int(24*time.Hour/time.Minute)
	d.dense = max(1, min(int(denseShare*float64(o.Results))/perDense, o.Checks/10))
	d.daily = max(1, o.Checks/100)
	others := max(1, o.Checks-d.dense-d.daily)
	d.recent = time.Duration(max(60, (o.Results-d.dense*perDense-d.daily*readsDays)/others)) * time.Minute
	return d
}

// check is the id of a check by its number, from 1.
func (d *readsData) check(ctx context.Context, db *sql.DB, n int) (id uuid.UUID, err error) {
	err = db.QueryRowContext(ctx, "SELECT md5('check' || $1::int)::uuid", n).Scan(&id)
	return id, err
}

// fill generates the rows inside Postgres. The partitions get their indexes at the end,
// which is much faster.
func (d *readsData) fill(ctx context.Context, db *sql.DB, progress func(string)) error {
	if err := d.fillChecks(ctx, db); err != nil {
		return fmt.Errorf("create checks: %w", err)
	}
	today := d.now.Truncate(24 * time.Hour)
	for n := -readsDays; n <= 1; n++ {
		if err := d.fillDay(ctx, db, today.AddDate(0, 0, n)); err != nil {
			return fmt.Errorf("create results: %w", err)
		}
		if n%15 == 0 {
			progress(fmt.Sprintf("results until %s are stored", today.AddDate(0, 0, n).Format(time.DateOnly)))
		}
	}
	for _, statement := range []string{
		`INSERT INTO result_rollups SELECT check_id, region, date_trunc('hour', slot), count(*), count(*) FILTER (WHERE success),
			coalesce(sum(response_time_ms) FILTER (WHERE success), 0), '{240,260,280}', ARRAY[count(*) / 3, count(*) / 3, count(*) / 3]::int[]
			FROM results GROUP BY 1, 2, 3 ORDER BY 3`,
		"VACUUM ANALYZE",
	} {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("sum results: %w", err)
		}
	}
	return nil
}

func (d *readsData) fillChecks(ctx context.Context, db *sql.DB) error {
	named := pgx.NamedArgs{"org": d.org, "checks": d.checks, "dense": d.dense, "daily": d.daily, "now": d.now}
	for _, statement := range []string{
		`INSERT INTO checks (id, org_id, name, type, config, target, interval_ms, regions, enabled, simultaneous, anchor, revision, labels,
			created_at, updated_at)
		SELECT md5('check' || n)::uuid, @org, 'Service ' || n, (ARRAY['https', 'tcp', 'dns', 'ping'])[1 + n % 4],
			'{"url": "https://example.com/"}', 'host-' || n || '.example.com',
			CASE WHEN n > @dense::int AND n <= @dense::int + @daily::int THEN 86400000 ELSE 60000 END,
			'{na-east-ewr}', n % 50 <> 0, true,
			@now::timestamptz - interval '90 days', 1, jsonb_build_object('team', 'team' || n % 100, 'env', (ARRAY['prod', 'test'])[1 + n % 2]),
			@now::timestamptz - interval '90 days' + n * interval '1 second', @now::timestamptz - n * interval '1 second'
		FROM generate_series(1, @checks::int) AS n`,
		`INSERT INTO alert_rules (id, org_id, check_id, name, condition, channel_ids, notify_on, region_policy, enabled, created_at, updated_at)
		SELECT md5('rule' || n)::uuid, @org, md5('check' || n)::uuid, 'Rule ' || n, '{"failure_threshold": 3}',
			ARRAY[md5('channel' || n % 20)::uuid], 'unhealthy', 'any', true, @now::timestamptz - n * interval '1 second', @now::timestamptz
		FROM generate_series(1, @checks::int) AS n`,
	} {
		if _, err := db.ExecContext(ctx, statement, named); err != nil {
			return err
		}
	}
	_, err := db.ExecContext(ctx, `
		INSERT INTO check_regions (check_id, region, org_id, desired, applied, active, start_at, anchor, interval_ms, counted_until, last_slot,
			last_time, next_due, health)
		SELECT id, r, org_id, 1, 1, enabled, anchor, anchor, interval_ms, $1, $1, $1, $1, CASE WHEN revision = 1 AND hashtext(id::text) % 40 = 0
			THEN 'unhealthy' ELSE 'healthy' END FROM checks, unnest(regions) AS r`, d.now)
	return err
}

// fillDay creates the partition of a day with its results.
func (d *readsData) fillDay(ctx context.Context, db *sql.DB, day time.Time) error {
	partition, next := "results_p"+day.Format("20060102"), day.AddDate(0, 0, 1)
	until := next.Add(-time.Minute)
	if until.After(d.now) {
		until = d.now
	}
	const minutes = `INSERT INTO %s
		SELECT c.id, '` + readsRegion + `', t, gen_random_uuid(), t + random() * interval '20 ms', false, random() > 0.01,
			20 + random() * 100, 200, NULL,
			CASE WHEN @metadata THEN '{"ip": "192.0.2.7", "timings": {"dns_ms": 1.5, "connect_ms": 3.25, "ttfb_ms": 40.0}}'::jsonb END
		FROM generate_series(@from::timestamptz, @until::timestamptz, interval '1 minute') AS t
		CROSS JOIN (SELECT md5('check' || n)::uuid AS id FROM generate_series(@first::int, @last::int) AS n) AS c`
	const once = `INSERT INTO %s
		SELECT md5('check' || n)::uuid, '` + readsRegion + `', $1::timestamptz + n * interval '1 second', gen_random_uuid(),
			$1::timestamptz + n * interval '1 second', false, true, 30, 200, NULL, NULL FROM generate_series($2::int, $3::int) AS n`
	const create = "CREATE TABLE IF NOT EXISTS %s (LIKE results INCLUDING DEFAULTS INCLUDING CONSTRAINTS)"
	if _, err := db.ExecContext(ctx, fmt.Sprintf(create, partition)); err != nil {
		return err
	}
	if !until.Before(day) {
		named := pgx.NamedArgs{"from": day, "until": until, "first": 1, "last": d.dense, "metadata": false}
		if _, err := db.ExecContext(ctx, fmt.Sprintf(minutes, partition), named); err != nil {
			return err
		}
		if _, err := db.ExecContext(ctx, fmt.Sprintf(once, partition), day, d.dense+1, d.dense+d.daily); err != nil {
			return err
		}
		from := d.now.Add(-d.recent)
		if from.Before(day) {
			from = day
		}
		named = pgx.NamedArgs{"from": from, "until": until, "first": d.dense + d.daily + 1, "last": d.checks, "metadata": true}
		if _, err := db.ExecContext(ctx, fmt.Sprintf(minutes, partition), named); err != nil {
			return err
		}
	}
	const attach = "ALTER TABLE results ATTACH PARTITION %s FOR VALUES FROM ('%s') TO ('%s')"
	_, err := db.ExecContext(ctx, fmt.Sprintf(attach, partition, day.Format(time.RFC3339), next.Format(time.RFC3339)))
	return err
}
