// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cluster

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/vigil-monitor/vigil/internal/timing"
)

// Drill is one thing that is done to a cluster.
type Drill struct {
	// What is a kind of hosts, or that of a Postgres with "primary" or "standby"; several with "and" between them; what Rolling
	// has; or which half of a split has the primaries.
	What  string
	Take  Take
	Round int
}

// key names it in a file of rows.
func (d Drill) key() string { return fmt.Sprintf("%s|%s|%d", d.What, d.Take, d.Round) }

// AllDrills are all that there are, each as often as rounds say.
func AllDrills(rounds int, cuts bool) (all []Drill) {
	takes := []Take{TakeKill, TakeFreeze}
	if cuts {
		takes = append(takes, TakeCut, TakeCutIn, TakeCutOut)
	}
	for _, take := range takes {
		for _, what := range []string{
			string(KindHistory), string(KindMatching), string(KindFrontend), string(KindTemporalWorker),
			string(KindTemporalPostgres) + " primary", string(KindTemporalPostgres) + " standby",
			string(KindVigilPostgres) + " primary", string(KindVigilPostgres) + " standby",
			string(KindAPI), string(KindControl), string(KindWorker), string(KindRelay), string(KindEtcd),
		} {
			all = append(all, repeated(what, take, rounds)...)
		}
	}
	for _, pair := range pairs() {
		all = append(all, repeated(pair.What, pair.Take, rounds)...)
	}
	for _, what := range slices.Sorted(maps.Keys(Rolling())) {
		all = append(all, repeated(what, TakeRestart, rounds)...)
	}
	all = append(all, certificateDrills(rounds)...)
	if cuts {
		all = append(all, repeated(string(KindRelay), TakeCutLong, rounds)...)
		all = append(append(all, splits(rounds)...), fullDisks(rounds)...)
	}
	all = append(all, wrongClocks(rounds)...)
	for round := range rounds { // in turn, so that there are never many
		all = append(all, Drill{string(KindHistory), TakeAdd, round + 1}, Drill{string(KindHistory), TakeRemove, round + 1})
	}
	return append(all, repeated(string(KindWorker), TakeFleet, rounds)...)
}

// Upgrade is the drill of a cluster that began with the previous version of Temporal's server. It comes before all others, once.
func Upgrade() Drill { return Drill{"temporal", TakeUpgrade, 1} }

// repeated is a drill as often as rounds say.
func repeated(what string, take Take, rounds int) (all []Drill) {
	for round := range rounds {
		all = append(all, Drill{what, take, round + 1})
	}
	return all
}

// pairs are the sample of two hosts of different kinds that are lost at once: those that do a part of one thing, and each other's
// standbys.
func pairs() []Drill {
	both := func(one, other Kind, of ...string) string {
		names := []string{string(one), string(other)}
		for i, place := range of {
			names[i] += place
		}
		return strings.Join(names, and)
	}
	const primary = " primary"
	return []Drill{
		{What: both(KindHistory, KindWorker), Take: TakeKill},
		{What: both(KindHistory, KindMatching), Take: TakeKill},
		{What: both(KindFrontend, KindAPI), Take: TakeKill},
		{What: both(KindTemporalPostgres, KindVigilPostgres, primary, primary), Take: TakeKill},
		{What: both(KindVigilPostgres, KindWorker, primary), Take: TakeKill},
		{What: both(KindVigilPostgres, KindEtcd, primary), Take: TakeKill},
		{What: both(KindHistory, KindMatching), Take: TakeFreeze},
		{What: both(KindControl, KindAPI), Take: TakeFreeze},
	}
}

// ShortDrills are those of CI.
func ShortDrills() []Drill {
	return []Drill{
		{string(KindHistory), TakeKill, 1}, {string(KindFrontend), TakeFreeze, 1}, {string(KindVigilPostgres) + " primary", TakeKill, 1},
	}
}

// Matching are the drills whose key, host|what happens|round, matches a regular expression.
func Matching(all []Drill, expression string) ([]Drill, error) {
	matches, err := regexp.Compile(expression)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(all), func(d Drill) bool { return !matches.MatchString(d.key()) }), nil
}

// Row is what a drill found.
type Row struct {
	Drill
	Host   string    `json:"host"`
	At     time.Time `json:"at"`
	Checks int       `json:"checks"`
	slots
	Alerts alerts `json:"alerts"`
	// APIAway is the longest time between two answers of the API to reads through the proxy, and WritesAway to writes.
	APIAway     time.Duration `json:"api_away"`
	WritesAway  time.Duration `json:"writes_away"`
	WritesLost  int           `json:"writes_lost"` // acknowledged, and not there
	Writes      int           `json:"writes"`
	EventsWrong int           `json:"events_wrong"` // of the stream: missed, repeated or out of order
	Took        time.Duration `json:"took"`
}

// Wrong are the sentences of what must never be. Times are judged elsewhere.
func (r *Row) Wrong() (wrong []string) {
	for _, each := range []struct {
		n    int
		what string
	}{
		{r.slots.Wrong, "slots are neither one result nor missed"},
		{r.Alerts.Wrong, "checks have another number of incidents than episodes"},
		{r.Alerts.Unbalanced, "incidents have not one beginning and one end at their channel"},
		{r.Alerts.Unobserved, "checks are reported as not probed, and were"},
		{r.WritesLost, "acknowledged writes are gone"},
		{r.EventsWrong, "events are missed or repeated in the stream"},
	} {
		if each.n != 0 {
			wrong = append(wrong, fmt.Sprintf("%d %s", each.n, each.what))
		}
	}
	if r.Stored+r.Missed != r.Due {
		wrong = append(wrong, fmt.Sprintf("%d slots were due, %d are stored and %d missed", r.Due, r.Stored, r.Missed))
	}
	return wrong
}

// Run does one drill. The error is that of a drill that could not be done, or after which the cluster did
// not become right again.
func (d *Drills) Run(ctx context.Context, drill Drill) (*Row, error) {
	hosts, err := d.hosts(ctx, drill)
	if err != nil {
		return nil, err
	}
	if err := d.calm(ctx, time.Now()); err != nil {
		return nil, fmt.Errorf("before the drill: %w", err)
	}
	d.reader.take(time.Now())
	d.writer.take(time.Now())
	began := time.Now().Truncate(time.Microsecond)
	d.outside.setBroken(true)
	taken := time.Now()
	if err := d.takeAll(ctx, hosts, drill); err != nil {
		return nil, err
	}
	back := time.Now()
	if err := timing.Sleep(ctx, 2*d.options.Interval); err != nil { // what comes of its return belongs to the drill too
		return nil, err
	}
	if err := d.until(ctx, d.options.Patience, "each failing check has an incident", func(ctx context.Context) error {
		return d.none(ctx, `SELECT $1 - count(DISTINCT check_id) FROM incidents WHERE status <> 'resolved' AND created_at >= $2`,
			len(d.flapping), began)
	}); err != nil {
		return nil, err
	}
	d.outside.setBroken(false)
	healed := time.Now().Truncate(time.Microsecond)
	if err := d.calm(ctx, healed); err != nil {
		return nil, err
	}
	row := &Row{
		Drill: drill, Host: cmp.Or(namesOf(hosts), drill.What), At: began, Checks: d.options.Checks + d.options.Flapping,
		APIAway: d.reader.take(time.Now()), WritesAway: d.writer.take(time.Now()),
	}
	// Each loop has a result of a later slot than healed, so that all before it are decided.
	if row.slots, err = account(ctx, d.db, began, healed); err != nil {
		return nil, err
	}
	if err := d.count(ctx, row, began, [2]time.Time{taken, back.Add(10 * time.Second)}); err != nil {
		return nil, err
	}
	row.Took = time.Since(began)
	return row, nil
}

// calm waits until each loop has a result after an instant, and then until nothing is open or under way: what
// is stored of one leads to the next.
func (d *Drills) calm(ctx context.Context, after time.Time) error {
	for _, each := range []struct{ what, query string }{
		{"each loop probes again", "SELECT count(*) FROM check_regions WHERE active AND (last_scheduled IS NULL OR last_scheduled < $1)"},
		{"each check is healthy", "SELECT count(*) FROM check_regions WHERE active AND health <> 'healthy' AND $1::timestamptz IS NOT NULL"},
		{"no incident is open", "SELECT count(*) FROM incidents WHERE status <> 'resolved' AND $1::timestamptz IS NOT NULL"},
		{"no message is under way", "SELECT count(*) FROM deliveries WHERE status = 'pending' AND $1::timestamptz IS NOT NULL"},
	} {
		err := d.until(ctx, d.options.Patience, each.what, func(ctx context.Context) error { return d.none(ctx, each.query, after) })
		if err != nil {
			return err
		}
	}
	return nil
}

// count fills the row of a drill.
func (d *Drills) count(ctx context.Context, row *Row, began time.Time, away [2]time.Time) (err error) {
	if row.Alerts, err = countAlerts(ctx, d.db, began, away, d.flapping, d.outside); err != nil {
		return err
	}
	if row.Silence < 2*d.options.Interval { // the shortest time after which that may be
		if err := d.db.QueryRowContext(ctx, "SELECT count(*) FROM events WHERE type = 'check.unobserved' AND ms >= $1",
			began.UnixMilli()).Scan(&row.Alerts.Unobserved); err != nil {
			return err
		}
	}
	written := d.writer.acknowledged()
	row.Writes = len(written)
	var there int
	if err := d.db.QueryRowContext(ctx, "SELECT count(*) FROM channels WHERE name = ANY ($1)", written).Scan(&there); err != nil {
		return err
	}
	row.WritesLost = len(written) - there
	// An organization has at most 2,000 channels.
	if _, err := d.db.ExecContext(ctx, "DELETE FROM channels WHERE name = ANY ($1)", written); err != nil {
		return fmt.Errorf("make space for other writes: %w", err)
	}
	d.writer.forget(written)
	var newest int64
	if err := d.db.QueryRowContext(ctx, "SELECT coalesce(max(seq), 0) FROM events").Scan(&newest); err != nil {
		return err
	}
	// A stream that broke is resumed within a moment.
	_ = d.until(ctx, 30*time.Second, "the stream is complete", func(context.Context) error {
		if d.listener.missed(newest) > d.missedBefore {
			return errors.New("events are missing")
		}
		return nil
	})
	missed := d.listener.missed(newest)
	row.EventsWrong, d.missedBefore = int(missed-d.missedBefore), missed
	return nil
}

// ReadRows reads a file of rows, one JSON object a line. A file that does not exist has none.
func ReadRows(path string) (rows []Row, err error) {
	file, err := os.Open(path) //nolint:gosec // the file of the person who runs drills
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var row Row
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		rows = append(rows, row)
	}
	return rows, lines.Err()
}

// AppendRow adds a row to a file.
func AppendRow(path string, row *Row) error {
	raw, err := json.Marshal(row)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644) //nolint:gosec // as above; it is public
	if err != nil {
		return err
	}
	_, err = file.Write(append(raw, '\n'))
	return errors.Join(err, file.Close())
}

// Left are the drills without a row.
func Left(all []Drill, rows []Row) []Drill {
	return slices.DeleteFunc(slices.Clone(all), func(d Drill) bool {
		return slices.ContainsFunc(rows, func(r Row) bool { return r.key() == d.key() })
	})
}

// WriteMarkdown writes rows as a table, the rounds of a drill in one line with their worst figures.
func WriteMarkdown(w io.Writer, rows []Row) error {
	var b strings.Builder
	b.WriteString(
		"| host | what happens | runs | due, stored, missed | longest silence | reads, writes silent | first attempt p99 | wrong |\n" +
			"|---|---|---|---|---|---|---|---|\n",
	)
	var order []string
	of := make(map[string][]Row)
	for _, row := range rows {
		name := fmt.Sprintf("| %s | %s |", row.What, row.Take)
		if of[name] == nil {
			order = append(order, name)
		}
		of[name] = append(of[name], row)
	}
	for _, name := range order {
		var sum Row
		var wrong []string
		for _, row := range of[name] {
			sum.Due, sum.Stored, sum.Missed = sum.Due+row.Due, sum.Stored+row.Stored, sum.Missed+row.Missed
			sum.Silence, sum.APIAway = max(sum.Silence, row.Silence), max(sum.APIAway, row.APIAway)
			sum.WritesAway = max(sum.WritesAway, row.WritesAway)
			sum.Alerts.AttemptP99 = max(sum.Alerts.AttemptP99, row.Alerts.AttemptP99)
			wrong = append(wrong, row.Wrong()...)
		}
		said := "nothing"
		if len(wrong) > 0 {
			said = strings.Join(wrong, "; ")
		}
		seconds := func(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }
		fmt.Fprintf(&b, "%s %d | %d, %d, %d | %s | %s, %s | %s | %s |\n", name, len(of[name]), sum.Due, sum.Stored, sum.Missed,
			seconds(sum.Silence), seconds(sum.APIAway), seconds(sum.WritesAway), seconds(sum.Alerts.AttemptP99), said)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
