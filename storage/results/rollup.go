// SPDX-License-Identifier: Apache-2.0

package results

import (
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// hourKey is the key of a rollup.
type hourKey struct {
	loop loopKey
	hour time.Time
}

// Rollup sums the results of a loop whose slots are in one hour (UTC). SumMS and times
// count successful results only. Results in maintenance are in excluded and
// excludedSuccesses, and in nothing else.
type Rollup struct {
	Total, Successes            int64
	SumMS                       float64
	Times                       Histogram
	excluded, excludedSuccesses int64
	seen                        int16 // what the results say, see seenIn; of new results only
}

// What a result says besides its success, as bits of the column seen.
const (
	seenCertificate = 1
	seenDNS         = 2
)

// seenIn says of which kinds a result is that a state remembers, so that these are looked for in hours
// that have some only.
func seenIn(r *vigil.Result) (seen int16) {
	if _, ok := r.CertificateDays(); ok {
		seen |= seenCertificate
	}
	if r.DNSAnswer() != "" {
		seen |= seenDNS
	}
	return seen
}

// count adds a result.
func (r *Rollup) count(success bool, response time.Duration, excluded bool) {
	switch {
	case excluded:
		r.excluded++
		if success {
			r.excludedSuccesses++
		}
	case success:
		r.Total++
		r.Successes++
		r.SumMS += ResponseMS(response)
		r.Times[bucketOf(response)]++
	default:
		r.Total++
	}
}

// HourOf returns the hour of a slot, in UTC.
func HourOf(slot time.Time) time.Time { return slot.UTC().Truncate(time.Hour) }

// queueRollups reads the stored rollups of the hours of the rows. The statement follows the
// one that locks the loops, so it sees what was committed before the lock.
func (g *groupTx) queueRollups(batch *pgx.Batch) {
	var checks [][16]byte
	var regions []string
	var hours []time.Time
	asked := make(map[hourKey]bool)
	for _, p := range g.rows {
		if key := p.hourKey(); !asked[key] {
			asked[key] = true
			checks, regions, hours = append(checks, key.loop.check), append(regions, key.loop.region), append(hours, key.hour)
		}
	}
	g.sums = make(map[hourKey]*Rollup, len(asked))
	batch.Queue(`
		SELECT u.check_id, u.region, u.hour, u.total, u.successes, u.sum_ms, u.buckets, u.counts, u.excluded, u.excluded_successes
		FROM result_rollups AS u JOIN unnest($1::uuid[], $2::text[], $3::timestamptz[]) AS k (check_id, region, hour)
			ON u.check_id = k.check_id AND u.region = k.region AND u.hour = k.hour`, checks, regions, hours).
		Query(func(found pgx.Rows) error {
			var key hourKey
			var stored Rollup
			var buckets []int16
			var counts []int32
			into := []any{
				&key.loop.check, &key.loop.region, &key.hour, &stored.Total, &stored.Successes, &stored.SumMS, &buckets, &counts,
				&stored.excluded, &stored.excludedSuccesses,
			}
			_, err := pgx.ForEachRow(found, into, func() error {
				sum := stored
				sum.Times = HistogramOf(buckets, counts)
				g.sums[hourKey{key.loop, key.hour.UTC()}] = &sum
				return nil
			})
			return err
		})
}

func (p *pendingRow) hourKey() hourKey { return hourKey{p.key(), HourOf(p.result.Slot)} }

// addToRollups adds the inserted rows to the rollups. The group holds the locks of its
// loops, so it is safe to read a rollup, add to it and write it back.
func (g *groupTx) addToRollups(batch *pgx.Batch) {
	var order []hourKey
	changed := make(map[hourKey]bool)
	for _, p := range g.rows {
		if !g.inserted[p.slotKey()] {
			continue
		}
		key := p.hourKey()
		if !changed[key] {
			changed[key], order = true, append(order, key)
		}
		sum := g.sums[key]
		if sum == nil {
			sum = &Rollup{Times: make(Histogram)}
			g.sums[key] = sum
		}
		sum.count(p.result.Success, p.result.ResponseTime, p.excluded)
		sum.seen |= seenIn(&p.result)
	}
	if len(order) > 0 {
		statement, args := rollupWrite(order, g.sums)
		batch.Queue(statement, args)
	}
}

// rollupWrite returns the statement that stores new sums, with its arguments. A Postgres
// array cannot hold arrays of different lengths, so the statement takes histograms as text.
func rollupWrite(order []hourKey, sums map[hourKey]*Rollup) (statement string, args pg.Named) {
	var checks [][16]byte
	var regions, buckets, counts []string
	var hours []time.Time
	var totals, successes, excluded, excludedSuccesses []int64
	var sumMS []float64
	var seen []int16
	for _, key := range order {
		sum := sums[key]
		b, n := sum.Times.columns()
		checks, regions, hours = append(checks, key.loop.check), append(regions, key.loop.region), append(hours, key.hour)
		totals, successes, sumMS = append(totals, sum.Total), append(successes, sum.Successes), append(sumMS, sum.SumMS)
		buckets, counts = append(buckets, arrayText(b)), append(counts, arrayText(n))
		excluded, excludedSuccesses = append(excluded, sum.excluded), append(excludedSuccesses, sum.excludedSuccesses)
		seen = append(seen, sum.seen)
	}
	return `
		INSERT INTO result_rollups AS u (check_id, region, hour, total, successes, sum_ms, buckets, counts, excluded, excluded_successes,
			seen)
		SELECT n.check_id, n.region, n.hour, n.total, n.successes, n.sum_ms, n.buckets::int2[], n.counts::int4[], n.excluded,
			n.excluded_successes, n.seen
		FROM unnest(@checks::uuid[], @regions::text[], @hours::timestamptz[], @totals::int8[], @successes::int8[], @sums_ms::float8[],
				@buckets::text[], @counts::text[], @excluded::int8[], @excluded_successes::int8[], @seen::int2[])
			AS n (check_id, region, hour, total, successes, sum_ms, buckets, counts, excluded, excluded_successes, seen)
		ON CONFLICT (check_id, region, hour) DO UPDATE SET
			total = excluded.total, successes = excluded.successes, sum_ms = excluded.sum_ms,
			buckets = excluded.buckets, counts = excluded.counts,
			excluded = excluded.excluded, excluded_successes = excluded.excluded_successes,
			seen = u.seen | excluded.seen`,
		pg.Named{
			"checks": checks, "regions": regions, "hours": hours, "totals": totals, "successes": successes, "sums_ms": sumMS,
			"buckets": buckets, "counts": counts, "excluded": excluded, "excluded_successes": excludedSuccesses, "seen": seen,
		}
}

// arrayText formats integers as the text of a Postgres array.
func arrayText[T int16 | int32](numbers []T) string {
	const digits = 4 // and a comma, of most
	text := append(make([]byte, 0, 2+(digits+1)*len(numbers)), '{')
	for i, n := range numbers {
		if i > 0 {
			text = append(text, ',')
		}
		text = strconv.AppendInt(text, int64(n), 10)
	}
	return string(append(text, '}'))
}
