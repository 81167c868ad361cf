// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptrace"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/net/html"

	"github.com/vigil-monitor/vigil/internal/timing"
)

// Goals of the dashboard.
const (
	goalFirstByte = 50 * time.Millisecond
	goalBytes     = 60 << 10 // of a page with its files, compressed
)

// DashboardOptions configure MeasureDashboard.
type DashboardOptions struct {
	Checks   int           // that the overview has
	Interval time.Duration // of every check
	Settle   time.Duration // how long to wait at most until turns cover as many slots as they will
	Rounds   int           // how often the overview is read
	Viewers  int           // that keep it open at the same time
	Measure  time.Duration // for how long their CPU time is counted
	Out      io.Writer     // where the report goes
}

// MeasureDashboard runs checks, and prints how soon the overview of the dashboard answers a
// browser that is signed in, how large it is, and what browsers cost that keep it open.
func MeasureDashboard(ctx context.Context, o DashboardOptions) error {
	return withCluster(ctx, defaults(), func(s *cluster) error {
		caller, err := s.serveAPI(ctx, AlertOptions{Subscribers: o.Viewers})
		if err != nil {
			return err
		}
		defer caller.api.stop()
		if err := caller.signUp(ctx); err != nil {
			return err
		}
		if _, err := caller.createAll(ctx, s.url, CreateOptions{Checks: o.Checks, Clients: 4, Interval: o.Interval}); err != nil {
			return err
		}
		if err := s.settle(ctx, LoopOptions{Loops: o.Checks, Interval: o.Interval, Settle: o.Settle}); err != nil {
			return err
		}
		if err := s.fillHistory(ctx); err != nil {
			return err
		}
		b, err := caller.signIn(ctx)
		if err != nil {
			return err
		}
		return b.report(ctx, s, caller, o)
	})
}

// fillHistory gives every check results in its 60 slots before the first one, so that
// its strip is as long as that of a check that has run for a while.
func (s *cluster) fillHistory(ctx context.Context) error {
	for _, statement := range []string{
		`INSERT INTO results (check_id, region, slot, id, time, manual, success, response_time_ms, status_code)
		SELECT check_id, region, first - n * interval '1 second' * seconds, gen_random_uuid(), first - n * interval '1 second' * seconds, false,
			random() > 0.02, 20 + random() * 100, 200
		FROM (SELECT r.check_id, r.region, min(r.slot) AS first, max(c.interval_ms) / 1000 AS seconds
			FROM results AS r JOIN checks AS c ON c.id = r.check_id GROUP BY 1, 2) AS known, generate_series(1, 60) AS n
		ON CONFLICT DO NOTHING`,
		"VACUUM ANALYZE",
	} {
		if _, err := s.db.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("fill in earlier results: %w", err)
		}
	}
	return nil
}

// visitor is a browser that is signed in.
type visitor struct {
	url    string
	client *http.Client
}

// The account that reads the dashboard; the one of an API key has no password.
const (
	readerEmail    = "reader@vigil.test"
	readerPassword = "a password of the bench"
)

// signUp makes an account with a password, which the caller acts as from then on.
func (c *apiCaller) signUp(ctx context.Context) error {
	var made struct {
		Token string `json:"token"`
	}
	err := c.call(ctx, &made, http.MethodPost, "/v1/auth/signup", map[string]any{
		"email": readerEmail, "password": readerPassword, "name": "Reader", "organization_name": "bench",
	})
	c.key = made.Token
	return err
}

// signIn signs a browser in.
func (c *apiCaller) signIn(ctx context.Context) (*visitor, error) {
	jar, err := cookiejar.New(nil)
	if err != nil {
		return nil, err
	}
	v := &visitor{url: c.url, client: &http.Client{
		// Answers are counted as they arrive, so nothing is decompressed on the way.
		Jar: jar, Transport: &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 4},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	form := url.Values{"email": {readerEmail}, "password": {readerPassword}}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url+"/app/sign-in", strings.NewReader(form.Encode()))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("Sec-Fetch-Site", "same-origin")
	answer, err := v.client.Do(request)
	if err != nil {
		return nil, err
	}
	_ = answer.Body.Close()
	if answer.StatusCode != http.StatusSeeOther {
		return nil, fmt.Errorf("the dashboard answers the sign-in with status %d", answer.StatusCode)
	}
	return v, nil
}

// loaded is an answer, and how soon its first byte was there.
type loaded struct {
	first  time.Duration
	bytes  int    // as they were sent
	text   string // decompressed
	status int
}

// load reads a path.
func (v *visitor) load(ctx context.Context, path string) (loaded, error) {
	var l loaded
	began := time.Now()
	trace := &httptrace.ClientTrace{GotFirstResponseByte: func() { l.first = time.Since(began) }}
	request, err := http.NewRequestWithContext(httptrace.WithClientTrace(ctx, trace), http.MethodGet, v.url+path, http.NoBody)
	if err != nil {
		return l, err
	}
	request.Header.Set("Accept-Encoding", "gzip")
	answer, err := v.client.Do(request)
	if err != nil {
		return l, err
	}
	defer func() { _ = answer.Body.Close() }()
	raw, err := io.ReadAll(answer.Body)
	if err != nil {
		return l, err
	}
	l.bytes, l.text, l.status = len(raw), string(raw), answer.StatusCode
	if answer.Header.Get("Content-Encoding") == "gzip" {
		plain, err := gzip.NewReader(strings.NewReader(l.text))
		if err != nil {
			return l, err
		}
		text, err := io.ReadAll(plain)
		if err != nil {
			return l, err
		}
		l.text = string(text)
	}
	if l.status != http.StatusOK {
		return l, fmt.Errorf("GET %s: status %d", path, l.status)
	}
	return l, nil
}

// anatomy is what a page consists of.
type anatomy struct {
	elements int
	files    []string // that the browser loads for it
	stream   string   // path of its live stream; empty without one
}

func readAnatomy(text string) (anatomy, error) {
	root, err := html.Parse(strings.NewReader(text))
	if err != nil {
		return anatomy{}, err
	}
	var a anatomy
	var rows []string
	for n := range root.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		a.elements++
		for _, attribute := range n.Attr {
			switch {
			case n.Data == "script" && attribute.Key == "src", n.Data == "link" && attribute.Key == "href":
				a.files = append(a.files, attribute.Val)
			case attribute.Key == "data-live":
				a.stream = attribute.Val
			case n.Data == "tr" && attribute.Key == "data-check":
				rows = append(rows, attribute.Val)
			}
		}
	}
	if a.stream != "" { // the page's script adds the rows that it shows
		a.stream += "&rows=" + strings.Join(rows, ",")
	}
	return a, nil
}

// report measures and prints.
func (v *visitor) report(ctx context.Context, s *cluster, caller *apiCaller, o DashboardOptions) error {
	page, err := v.load(ctx, "/app") // the first one fills caches
	if err != nil {
		return err
	}
	times := make([]time.Duration, o.Rounds)
	for i := range times {
		if page, err = v.load(ctx, "/app"); err != nil {
			return err
		}
		times[i] = page.first
	}
	slices.Sort(times)
	parts, err := readAnatomy(page.text)
	if err != nil {
		return err
	}
	files := 0
	for _, path := range parts.files {
		file, err := v.load(ctx, path)
		if err != nil {
			return err
		}
		files += file.bytes
	}
	var b strings.Builder
	fmt.Fprintf(&b, "the overview of %d checks, interval %v, %d cores; checks run, and the reader is on the same machine\n",
		o.Checks, o.Interval, runtime.NumCPU())
	p50, p99 := percentile(times, 50), percentile(times, 99)
	fmt.Fprintf(&b, "  first byte           p50 %.1f ms, p99 %.1f ms of %d readings   goal < %v: %s\n",
		milliseconds(p50), milliseconds(p99), o.Rounds, goalFirstByte, met(p99 < goalFirstByte))
	fmt.Fprintf(
		&b,
		"  compressed           page %.1f KiB + %d files %.1f KiB = %.1f KiB   goal < %d KiB: %s\n",
		kib(page.bytes),
		len(parts.files),
		kib(files),
		kib(page.bytes+files),
		goalBytes>>10,
		met(page.bytes+files < goalBytes),
	)
	fmt.Fprintf(&b, "  elements             %d\n", parts.elements)
	if err := v.watch(ctx, s, caller, o, parts.stream, &b); err != nil {
		return err
	}
	_, err = fmt.Fprintln(o.Out, b.String())
	return err
}

func met(yes bool) string {
	if yes {
		return "met"
	}
	return "NOT MET"
}

func kib(bytes int) float64 { return float64(bytes) / 1024 }

// watch keeps the overview open in browsers, and reports the CPU time of the API with them
// and without.
func (v *visitor) watch(ctx context.Context, s *cluster, caller *apiCaller, o DashboardOptions, stream string, report io.Writer) error {
	if o.Viewers == 0 || stream == "" {
		_, err := fmt.Fprintln(report, "  viewers              not measured")
		return err
	}
	alone, err := v.cpu(ctx, s, caller, o.Measure)
	if err != nil {
		return err
	}
	var arrived viewing
	ctx, leave := context.WithCancel(ctx)
	var viewers sync.WaitGroup
	defer viewers.Wait()
	defer leave()
	opened := make(chan error, o.Viewers)
	for range o.Viewers {
		viewers.Go(func() { v.view(ctx, stream, &arrived, opened) })
	}
	for range o.Viewers {
		if err := <-opened; err != nil {
			return fmt.Errorf("open %s: %w", stream, err)
		}
	}
	before := arrived.bytes.Load()
	with, err := v.cpu(ctx, s, caller, o.Measure)
	if err != nil {
		return err
	}
	seconds := o.Measure.Seconds()
	_, err = fmt.Fprintf(
		report,
		"  %3d viewers          API %.1f %% of a core (%.1f %% without them), Postgres %.1f %% (%.1f %%), %.1f KiB/s to each viewer\n",
		o.Viewers,
		100*with.api.Seconds()/seconds,
		100*alone.api.Seconds()/seconds,
		100*with.postgres.Seconds()/seconds,
		100*alone.postgres.Seconds()/seconds,
		kib(int(arrived.bytes.Load()-before))/seconds/float64(o.Viewers),
	)
	return err
}

// viewing counts what viewers receive.
type viewing struct{ bytes atomic.Int64 }

// view reads the live stream until ctx ends.
func (v *visitor) view(ctx context.Context, stream string, arrived *viewing, opened chan<- error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, v.url+stream, http.NoBody)
	if err != nil {
		opened <- err
		return
	}
	request.Header.Set("Accept", "text/event-stream")
	answer, err := v.client.Do(request)
	if err != nil {
		opened <- err
		return
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		opened <- fmt.Errorf("status %d", answer.StatusCode)
		return
	}
	opened <- nil
	buffer := make([]byte, 16<<10)
	for {
		n, err := answer.Body.Read(buffer)
		arrived.bytes.Add(int64(n))
		if err != nil {
			return
		}
	}
}

// spent is CPU time.
type spent struct{ api, postgres time.Duration }

// cpu returns the CPU time that the API and Postgres use in some time.
func (v *visitor) cpu(ctx context.Context, s *cluster, caller *apiCaller, length time.Duration) (spent, error) {
	var used [2]spent
	for i := range used {
		if i > 0 {
			if err := timing.Sleep(ctx, length); err != nil {
				return spent{}, err
			}
		}
		api, err := usageOf(caller.api.pid(), false)
		postgres, errPostgres := usageOf(s.postgres.PID(), true)
		if err := errors.Join(err, errPostgres); err != nil {
			return spent{}, err
		}
		used[i] = spent{api: api.cpu, postgres: postgres.cpu}
	}
	return spent{api: used[1].api - used[0].api, postgres: used[1].postgres - used[0].postgres}, nil
}
