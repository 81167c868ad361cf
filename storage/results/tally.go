// SPDX-License-Identifier: Apache-2.0

package results

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/vigil-monitor/vigil/internal/overview"
	"github.com/vigil-monitor/vigil/internal/timing"
	"github.com/vigil-monitor/vigil/storage/loops"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// This file is the one definition of uptime: which results and slots count in a span, and what
// becomes of an hour that an edge lies in. All that shows uptime reads it, by region, day, check or in
// all.

// tallyKey is what a sum is of.
type tallyKey struct {
	check   uuid.UUID
	region  string
	segment int // the time from edges[segment] to edges[segment+1]
}

// tallies are the sums of checks in the segments between edges, read in one snapshot.
type tallies struct {
	edges []time.Time // in UTC, ascending, at least two
	now   time.Time
	// withExcluded: results in maintenance count, too.
	withExcluded bool

	created map[uuid.UUID]time.Time // the checks
	sums    map[tallyKey]*overview.Tally
	// gone are the hours of checks that an edge lies in and whose results are past their retention.
	gone map[checkHour]bool
	// loops is how many loops the checks have.
	loops int
}

type checkHour struct {
	check uuid.UUID
	hour  time.Time
}

// read sums the results and missed slots of checks of the organization.
func (t *tallies) read(ctx context.Context, v view, orgID uuid.UUID, checks []uuid.UUID) error {
	t.sums, t.gone = make(map[tallyKey]*overview.Tally), make(map[checkHour]bool)
	if err := t.readCreated(ctx, v.tx, checks); err != nil {
		return fmt.Errorf("read the checks: %w", err)
	}
	whole := t.readWhole
	if len(v.homes) > 1 {
		whole = t.readWholeApart
	}
	if err := whole(ctx, v, checks); err != nil {
		return fmt.Errorf("sum whole hours: %w", err)
	}
	if err := t.readDivided(ctx, v, checks); err != nil {
		return fmt.Errorf("sum divided hours: %w", err)
	}
	for _, sum := range t.sums { // so that what is shown adds up
		sum.Measured, sum.Down = sum.Measured.Round(time.Millisecond), sum.Down.Round(time.Millisecond)
	}
	return t.readMissed(ctx, v.tx, orgID, checks)
}

// readCreated reads since when there are the checks.
func (t *tallies) readCreated(ctx context.Context, tx pgx.Tx, checks []uuid.UUID) error {
	found, err := tx.Query(ctx, "SELECT id, created_at FROM checks WHERE id = ANY($1)", pgx.QueryExecModeDescribeExec, checks)
	if err != nil {
		return err
	}
	t.created = make(map[uuid.UUID]time.Time, len(checks))
	var id uuid.UUID
	var at time.Time
	_, err = pgx.ForEachRow(found, []any{&id, &at}, func() error {
		t.created[id] = at
		return nil
	})
	return err
}

// divided are the hours that edges lie in. Every other hour is in one segment as a whole.
func (t *tallies) divided() []time.Time {
	hours := []time.Time{}
	for _, edge := range t.edges {
		if hour := HourOf(edge); !hour.Equal(edge) && !slices.Contains(hours, hour) {
			hours = append(hours, hour)
		}
	}
	return hours
}

func (t *tallies) at(check uuid.UUID, region string, segment int) *overview.Tally {
	key := tallyKey{check, region, segment}
	if t.sums[key] == nil {
		t.sums[key] = &overview.Tally{}
	}
	return t.sums[key]
}

// part is what results of a check in a region say of an hour, or of a part of it.
type part struct {
	check                                         uuid.UUID
	region                                        string
	hour                                          time.Time
	segment                                       int
	total, successes, excluded, excludedSuccesses int64
}

// all are the results, also those in maintenance.
func (p *part) all() int64 { return p.total + p.excluded }

// add adds a part to a segment. The results of all regions, of which there are all, stand for [from, to)
// together.
func (t *tallies) add(p *part, segment int, from, to time.Time, all int64) {
	sum := t.at(p.check, p.region, segment)
	total, successes := p.total, p.successes
	if t.withExcluded {
		total, successes = total+p.excluded, successes+p.excludedSuccesses
	}
	sum.Total, sum.Successful, sum.Excluded = sum.Total+total, sum.Successful+successes, sum.Excluded+p.excluded
	if created := t.created[p.check]; created.After(from) && created.Before(to) {
		from = created
	}
	if all > 0 && from.Before(to) {
		each := to.Sub(from).Seconds() / float64(all)
		sum.Measured += seconds(each * float64(total))
		sum.Down += seconds(each * float64(total-successes))
	}
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// readWholeApart sums the hours that no edge lies in, where they are in several databases: the share of each result in the time of
// its hour depends on those of all regions.
func (t *tallies) readWholeApart(ctx context.Context, v view, checks []uuid.UUID) error {
	parts, _, err := readParts(ctx, v, `
		SELECT check_id, region, hour, width_bucket(hour, @edges::timestamptz[]) - 1, total, successes, excluded, excluded_successes
		FROM result_rollups WHERE check_id = ANY(@checks::uuid[]) AND hour >= @from AND hour < @to AND hour <> ALL(@divided::timestamptz[])`,
		pg.Named{
			"edges": t.edges, "checks": checks, "from": t.edges[0], "to": t.edges[len(t.edges)-1], "divided": t.divided(),
		})
	t.addParts(parts, func(checkHour) bool { return true })
	return err
}

// readWhole sums the hours that no edge lies in.
func (t *tallies) readWhole(ctx context.Context, v view, checks []uuid.UUID) error {
	found, err := v.tx.Query(ctx, `
		SELECT check_id, region, segment, sum(total)::bigint, sum(successes)::bigint, sum(excluded)::bigint,
			coalesce(sum(weight * total), 0), coalesce(sum(weight * (total - successes)), 0)
		FROM (
			SELECT u.check_id, u.region, width_bucket(u.hour, @edges::timestamptz[]) - 1 AS segment, u.excluded,
				u.total + CASE WHEN @with THEN u.excluded ELSE 0 END AS total,
				u.successes + CASE WHEN @with THEN u.excluded_successes ELSE 0 END AS successes,
				CASE WHEN c.created_at > u.hour AND c.created_at < u.hour + interval '1 hour'
					THEN extract(epoch FROM u.hour + interval '1 hour' - c.created_at)::float8 ELSE 3600 END
					/ nullif(sum(u.total + u.excluded) OVER (PARTITION BY u.check_id, u.hour), 0)::float8 AS weight
			FROM result_rollups AS u JOIN checks AS c ON c.id = u.check_id
			WHERE u.check_id = ANY(@checks::uuid[]) AND u.hour >= @from AND u.hour < @to AND u.hour <> ALL(@divided::timestamptz[])
		) AS h GROUP BY check_id, region, segment`, pgx.QueryExecModeDescribeExec, pg.Named{
		"edges": t.edges, "with": t.withExcluded, "checks": checks, "from": t.edges[0], "to": t.edges[len(t.edges)-1], "divided": t.divided(),
	})
	if err != nil {
		return err
	}
	var key tallyKey
	var sum overview.Tally
	var measured, down float64
	into := []any{&key.check, &key.region, &key.segment, &sum.Total, &sum.Successful, &sum.Excluded, &measured, &down}
	_, err = pgx.ForEachRow(found, into, func() error {
		sum.Measured, sum.Down = seconds(measured), seconds(down)
		t.at(key.check, key.region, key.segment).Add(sum)
		return nil
	})
	return err
}

// readDivided sums the hours that edges lie in: by their results, as long as all that the rollup counts are
// there, and otherwise as a whole, in the segment in which the hour begins.
func (t *tallies) readDivided(ctx context.Context, v view, checks []uuid.UUID) error {
	hours := t.divided()
	if len(hours) == 0 {
		return nil
	}
	rollups, counted, err := readParts(ctx, v, `
		SELECT check_id, region, hour, width_bucket(hour, @edges::timestamptz[]) - 1, total, successes, excluded, excluded_successes
		FROM result_rollups WHERE check_id = ANY(@checks::uuid[]) AND hour = ANY(@hours::timestamptz[])`,
		pg.Named{"edges": t.edges, "checks": checks, "hours": hours})
	if err != nil {
		return err
	}
	raw, stored, err := readParts(ctx, v, `
		SELECT c.id, r.region, k.hour, r.segment, r.total, r.successes, r.excluded, r.excluded_successes
		FROM unnest(@checks::uuid[]) AS c (id) CROSS JOIN unnest(@hours::timestamptz[]) AS k (hour) CROSS JOIN LATERAL (
			SELECT region, width_bucket(slot, @edges::timestamptz[]) - 1 AS segment,
				count(*) FILTER (WHERE excluded = 0) AS total, count(*) FILTER (WHERE success AND excluded = 0) AS successes,
				count(*) FILTER (WHERE excluded <> 0) AS excluded,
				count(*) FILTER (WHERE success AND excluded <> 0) AS excluded_successes
			FROM results WHERE check_id = c.id AND slot >= k.hour AND slot < k.hour + interval '1 hour' GROUP BY 1, 2
		) AS r`, pg.Named{"edges": t.edges, "checks": checks, "hours": hours})
	if err != nil {
		return err
	}
	for hour, n := range counted {
		if stored[hour] < n {
			t.gone[hour] = true
		}
	}
	t.addParts(rollups, func(h checkHour) bool { return t.gone[h] })
	t.addParts(raw, func(h checkHour) bool { return !t.gone[h] })
	return nil
}

// addParts adds the parts of the hours that are to be counted by them. Those before the first edge and
// after the last one are in no segment.
func (t *tallies) addParts(parts []part, counts func(checkHour) bool) {
	type partOf struct {
		checkHour

		segment int
	}
	all := make(map[partOf]int64)
	for i := range parts {
		all[partOf{checkHour{parts[i].check, parts[i].hour}, parts[i].segment}] += parts[i].all()
	}
	for i := range parts {
		p := &parts[i]
		hour := checkHour{p.check, p.hour}
		if p.segment < 0 || p.segment >= len(t.edges)-1 || !counts(hour) {
			continue
		}
		from, to := p.hour, p.hour.Add(time.Hour)
		if !t.gone[hour] {
			from, to = timing.Later(from, t.edges[p.segment]), timing.Earlier(to, t.edges[p.segment+1])
		}
		t.add(p, p.segment, from, to, all[partOf{hour, p.segment}])
	}
}

// readParts reads the parts that a statement selects, and how many results each hour of a check has.
func readParts(ctx context.Context, v view, query string, args pg.Named) (parts []part, all map[checkHour]int64, err error) {
	all = make(map[checkHour]int64)
	for _, tx := range v.homes {
		found, err := tx.Query(ctx, query, pgx.QueryExecModeDescribeExec, args)
		if err != nil {
			return nil, nil, err
		}
		var p part
		into := []any{&p.check, &p.region, &p.hour, &p.segment, &p.total, &p.successes, &p.excluded, &p.excludedSuccesses}
		_, err = pgx.ForEachRow(found, into, func() error {
			p.hour = p.hour.UTC()
			parts = append(parts, p)
			all[checkHour{p.check, p.hour}] += p.all()
			return nil
		})
		if err != nil {
			return nil, nil, err
		}
	}
	return parts, all, nil
}

// edge is the edge that the sums of a check meet.
func (t *tallies) edge(check uuid.UUID, n int) overview.Edge {
	if hour := HourOf(t.edges[n]); !hour.Equal(t.edges[n]) && t.gone[checkHour{check, hour}] {
		return overview.Edge{At: hour.Add(time.Hour), Precision: overview.ByHour}
	}
	return overview.Edge{At: t.edges[n], Precision: overview.Exact}
}

// readMissed counts the missed slots between the edges that the sums meet.
func (t *tallies) readMissed(ctx context.Context, tx pgx.Tx, orgID uuid.UUID, checks []uuid.UUID) error {
	last := len(t.edges) - 1
	// An edge that is met by the hour is up to an hour later.
	w := loops.Window{From: t.edges[0], To: timing.Earlier(t.edges[last].Add(time.Hour), timing.Later(t.now, t.edges[last]))}
	known, err := visitMissed(ctx, tx, orgID, checks, w, t.now, func(run missedRun) {
		t.at(run.check, run.region, 0) // a region without results is one, too
		if run.between(w.From, w.To) == 0 {
			return
		}
		for n := range last {
			if missed := run.between(t.edge(run.check, n).At, t.edge(run.check, n+1).At); missed > 0 {
				t.at(run.check, run.region, n).Missed += missed
			}
		}
	})
	t.loops = known
	return err
}
