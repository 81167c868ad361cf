// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"crypto/rand"
	"database/sql"
	"fmt"
	"io"
	"log/slog"
	random "math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/internal/listing"
	"github.com/vigil-monitor/vigil/internal/secret"
	"github.com/vigil-monitor/vigil/internal/standalone"
	"github.com/vigil-monitor/vigil/storage"
)

// ReadOptions configure MeasureReads.
type ReadOptions struct {
	Results int       // stored results
	Checks  int       // of one organization
	Rounds  int       // how often each read is measured
	Out     io.Writer // where the report goes
	// Dir keeps the database, for another measurement; empty removes it. What is filled
	// already is not filled again.
	Dir string
}

// MeasureReads fills a database with results, and prints how long the reads of lists,
// results and summaries take and the slowest plan among them. The database is in a
// directory of its own, which is removed at the end.
func MeasureReads(ctx context.Context, o ReadOptions) error {
	if o.Dir != "" {
		return measureReadsIn(ctx, o, o.Dir)
	}
	return withDir(func(dir string) error { return measureReadsIn(ctx, o, dir) })
}

func measureReadsIn(ctx context.Context, o ReadOptions, dir string) error {
	data, err := standalone.OpenDataDir(dir)
	if err != nil {
		return err
	}
	postgres, err := standalone.StartPostgres(ctx, data, standalone.PostgresOptions{Databases: []string{"vigil"}})
	if err != nil {
		return err
	}
	defer func() { _ = postgres.Stop(context.WithoutCancel(ctx)) }()
	return measureReads(ctx, o, postgres.DSN("vigil"))
}

func measureReads(ctx context.Context, o ReadOptions, dsn string) error {
	raw := make([]byte, 32)
	_, _ = rand.Read(raw) // never fails
	keys, err := secret.NewKeyring(raw)
	if err != nil {
		return err
	}
	store, err := storage.Open(ctx, dsn, storage.Options{Keys: keys, MaxConns: 4, Now: time.Now, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	defer func() { _ = store.Close() }() //nolint:contextcheck // it bounds its own work
	if _, err := store.Migrate(ctx); err != nil {
		return err
	}
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	r := &reads{ReadOptions: o, store: store, db: db}
	if err := r.prepare(ctx); err != nil {
		return err
	}
	return r.measure(ctx)
}

// prepare fills the database unless an earlier measurement has.
func (r *reads) prepare(ctx context.Context) error {
	var size string
	var stored int64
	const state = "SELECT pg_size_pretty(pg_database_size(current_database())), (SELECT coalesce(sum(total), 0) FROM result_rollups)"
	if err := r.db.QueryRowContext(ctx, state).Scan(&size, &stored); err != nil {
		return err
	}
	if stored > 0 {
		r.data = newReadsData(r.ReadOptions, uuid.Nil)
		err := r.db.QueryRowContext(ctx, "SELECT org_id, max(last_slot) FROM check_regions GROUP BY 1").Scan(&r.data.org, &r.data.now)
		_, _ = fmt.Fprintf(r.Out, "%d results, %s\n\n", stored, size)
		return err
	}
	_, org, err := r.store.CreateAccount(
		ctx,
		account.Organization{Name: "Bench"},
		account.User{Email: "bench@example.com", Name: "Bench"},
		nil,
	)
	if err != nil {
		return err
	}
	at(ctx, "filling the database")
	began := time.Now()
	r.data = newReadsData(r.ReadOptions, org.ID)
	if err := r.data.fill(ctx, r.db, func(text string) { _, _ = fmt.Fprintf(r.Out, "  %s\n", text) }); err != nil {
		return err
	}
	if err := r.db.QueryRowContext(ctx, state).Scan(&size, &stored); err != nil {
		return err
	}
	_, _ = fmt.Fprintf(r.Out, "%d checks, %d results in %d days, %s, filled in %v\n\n",
		r.Checks, stored, readsDays, size, time.Since(began).Round(time.Second))
	return nil
}

// reads measures the reads of a filled database.
type reads struct {
	ReadOptions

	store *storage.Store
	db    *sql.DB
	data  *readsData
	ids   []uuid.UUID // of all checks, for summaries

	mu      sync.Mutex
	slowest time.Duration
	query   string
	of      string
}

// oneRead is a read under measurement; run reads something else each time.
type oneRead struct {
	name string
	run  func(ctx context.Context) error
}

func (r *reads) measure(ctx context.Context) error {
	at(ctx, "reading")
	hook := &slowQueries{reads: r}
	r.store.DB().AddQueryHook(hook) //nolint:staticcheck // it must be on the store's own handle
	_, _ = fmt.Fprintf(r.Out, "  %-44s %8s %8s %8s   ms\n", "", "p50", "p95", "worst")
	for _, read := range r.all() {
		hook.of = read.name
		took := make([]time.Duration, r.Rounds)
		for i := range took {
			began := time.Now()
			if err := read.run(ctx); err != nil {
				return fmt.Errorf("%s: %w", read.name, err)
			}
			took[i] = time.Since(began)
		}
		slices.Sort(took)
		ms := func(share float64) float64 {
			return float64(took[int(share*float64(len(took)-1))].Microseconds()) / 1000
		}
		_, _ = fmt.Fprintf(r.Out, "  %-44s %8.1f %8.1f %8.1f\n", read.name, ms(0.5), ms(0.95), ms(1))
	}
	return r.explain(ctx)
}

// explain prints the plan of the slowest statement, run once more.
func (r *reads) explain(ctx context.Context) error {
	rows, err := r.db.QueryContext(ctx, "EXPLAIN (ANALYZE, BUFFERS) "+r.query)
	if err != nil {
		return fmt.Errorf("explain: %w", err)
	}
	defer func() { _ = rows.Close() }()
	_, _ = fmt.Fprintf(r.Out, "\nThe slowest statement took %.1f ms, for %q:\n%s\n\n", float64(r.slowest.Microseconds())/1000, r.of, r.query)
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			return err
		}
		_, _ = fmt.Fprintln(r.Out, line)
	}
	return rows.Err()
}

// slowQueries keeps the slowest statement.
type slowQueries struct {
	reads *reads
	of    string
}

func (h *slowQueries) BeforeQuery(ctx context.Context, _ *bun.QueryEvent) context.Context { return ctx }

func (h *slowQueries) AfterQuery(_ context.Context, event *bun.QueryEvent) {
	h.reads.mu.Lock()
	defer h.reads.mu.Unlock()
	if took := time.Since(event.StartTime); took > h.reads.slowest {
		h.reads.slowest, h.reads.query, h.reads.of = took, event.Query, h.of
	}
}

func (r *reads) all() []oneRead {
	list := func(list listing.CheckList) func(context.Context) error {
		return func(ctx context.Context) error {
			_, _, err := r.store.Checks(ctx, r.data.org, list)
			return err
		}
	}
	page := listing.Page{Limit: 100}
	filtered := func(f listing.CheckFilter) func(context.Context) error {
		return list(listing.CheckList{CheckFilter: f, Page: page})
	}
	team := "team7"
	return append([]oneRead{
		{"checks, first page", list(listing.CheckList{Page: page})},
		{"checks, anywhere by cursor", func(ctx context.Context) error { return list(listing.CheckList{Page: r.anywhere(false)})(ctx) }},
		{"checks by name, anywhere by cursor", func(ctx context.Context) error {
			return list(listing.CheckList{Sort: listing.SortName, Page: r.anywhere(true)})(ctx)
		}},
		{"checks, at offset 9000", list(listing.CheckList{Page: listing.Page{Limit: 100, Offset: r.Checks * 9 / 10}})},
		{"checks, a text that one has", filtered(listing.CheckFilter{Query: "host-" + strconv.Itoa(r.Checks/2) + "."})},
		{"checks of a type", filtered(listing.CheckFilter{Type: vigil.TypeDNS})},
		{"checks with a label", filtered(listing.CheckFilter{Labels: []vigil.LabelSelector{{Key: "team", Value: &team}}})},
		{"checks that fail", filtered(listing.CheckFilter{Health: vigil.Unhealthy})},
		{"checks, a text in labels, errors and cities", filtered(listing.CheckFilter{Query: "frankfurt", Places: []string{"eu-central-fra"}})},
		{"checks, a text that none has", filtered(listing.CheckFilter{Query: "100% of_it"})},
		{"checks by state", list(listing.CheckList{Sort: listing.SortState, Page: page})},
		{"checks by interval", list(listing.CheckList{Sort: listing.SortInterval, Page: page})},
		{"checks by uptime", list(listing.CheckList{Sort: listing.SortUptime, Page: page})},
		{"checks by p95", list(listing.CheckList{Sort: listing.SortP95Down, Page: page})},
		{"checks by regions", list(listing.CheckList{Sort: listing.SortRegions, Page: page})},
		{"checks by when they were seen", list(listing.CheckList{Sort: listing.SortSeen, Page: page})},
		{"checks in groups of a label", func(ctx context.Context) error {
			_, _, err := r.store.CheckGroups(ctx, r.data.org, listing.CheckFilter{}, "team")
			return err
		}},
		{"keys of labels", func(ctx context.Context) error {
			_, err := r.store.LabelKeys(ctx, r.data.org)
			return err
		}},
		{"counts by health", func(ctx context.Context) error {
			_, err := r.store.CheckCounts(ctx, r.data.org, listing.CheckFilter{})
			return err
		}},
		{"summary of 100 checks", r.summaries},
		{"alert rules, first page", func(ctx context.Context) error {
			_, _, err := r.store.Rules(ctx, r.data.org, listing.RuleFilter{Page: page})
			return err
		}},
	}, r.ofResults()...)
}

func (r *reads) ofResults() []oneRead {
	results := func(n func() int, page func() listing.Page) func(context.Context) error {
		return func(ctx context.Context) error {
			id, err := r.data.check(ctx, r.db, n())
			if err != nil {
				return err
			}
			_, _, err = r.store.Results(ctx, r.data.org, id, listing.ResultFilter{Page: page()})
			return err
		}
	}
	dense := func() int { return 1 + random.IntN(r.data.dense) }                //nolint:gosec // any page will do
	daily := func() int { return 1 + r.data.dense + random.IntN(r.data.daily) } //nolint:gosec // any page will do
	first := func() listing.Page { return listing.Page{Limit: 100} }
	uptime := func(period time.Duration) func(context.Context) error {
		return func(ctx context.Context) error {
			id, err := r.data.check(ctx, r.db, dense())
			if err != nil {
				return err
			}
			_, err = r.store.Uptime(ctx, r.data.org, id, period, false)
			return err
		}
	}
	return []oneRead{
		{"results, first page", results(dense, first)},
		{"results, anywhere by cursor", results(dense, func() listing.Page {
			at := r.data.now.Add(-time.Duration(random.Int64N(int64(readsDays * 24 * time.Hour)))) //nolint:gosec // any page will do
			key := fmt.Sprintf("%d:%d", at.Unix()/86400, at.UnixMicro())
			return listing.Page{Limit: 100, After: &listing.PagePosition{Key: key, ID: uuid.New()}}
		})},
		{"results of a check that runs once a day", results(daily, first)},
		{"results, at offset 100000", results(dense, func() listing.Page { return listing.Page{Limit: 100, Offset: 100_000} })},
		{"uptime of 24 hours", uptime(24 * time.Hour)},
		{"uptime of 90 days", uptime(readsDays * 24 * time.Hour)},
		{"uptime of 90 days, by day", func(ctx context.Context) error {
			id, err := r.data.check(ctx, r.db, dense())
			if err != nil {
				return err
			}
			_, err = r.store.UptimeDays(ctx, r.data.org, id, readsDays)
			return err
		}},
	}
}

// anywhere is a page behind a random position in the list of checks.
func (r *reads) anywhere(byName bool) listing.Page {
	n := 1 + random.IntN(r.Checks) //nolint:gosec // any page will do
	key := strconv.FormatInt(r.data.now.AddDate(0, 0, -readsDays).Add(time.Duration(n)*time.Second).UnixMicro(), 10)
	if byName {
		key = "service " + strconv.Itoa(n)
	}
	return listing.Page{Limit: 100, After: &listing.PagePosition{Key: key, ID: uuid.New()}}
}

// summaries reads the summaries of 100 checks that follow each other in the list.
func (r *reads) summaries(ctx context.Context) error {
	const page = 100
	if r.ids == nil { // in the first round
		if err := r.store.DB().NewRaw("SELECT id FROM checks ORDER BY created_at, id").Scan(ctx, &r.ids); err != nil {
			return err
		}
	}
	first := random.IntN(max(1, len(r.ids)-page)) //nolint:gosec // any page will do
	ids := r.ids[first:min(first+page, len(r.ids))]
	sums, err := r.store.Summaries(ctx, r.data.org, ids)
	if err == nil && len(sums) != len(ids) {
		return fmt.Errorf("%d summaries of %d checks", len(sums), len(ids))
	}
	return err
}
