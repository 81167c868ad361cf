// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cluster

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/vigil-monitor/vigil/internal/timing"
)

// CostOptions say what is measured.
type CostOptions struct {
	Checks    []int         // how many there are, one after the other; each is more than the one before
	Interval  time.Duration // of checks, each of which is in one region
	Settle    time.Duration // how long to wait at most until turns cover as many slots as they will
	Measure   time.Duration
	Incidents int // that are opened at once beside the most checks, 0: none
}

// Validate returns an error that names what cannot be.
func (o CostOptions) Validate() error {
	last := 0
	for _, n := range o.Checks {
		if n <= last {
			return fmt.Errorf("the numbers of checks grow from 1 on: %d cannot follow %d", n, last)
		}
		last = n
	}
	switch {
	case len(o.Checks) == 0:
		return errors.New("say at least one number of checks")
	case o.Interval < time.Second || o.Interval%time.Second != 0:
		return fmt.Errorf("an interval has whole seconds, and not %v", o.Interval)
	case o.Measure < time.Second:
		return fmt.Errorf("measure for at least a second, and not %v", o.Measure)
	case o.Incidents < 0:
		return fmt.Errorf("%d incidents cannot be opened", o.Incidents)
	}
	return nil
}

// costs measures a cluster.
type costs struct {
	c       *Cluster
	options CostOptions
	db      *sql.DB
	target  *Host
	made    int // checks
}

// MeasureCosts makes checks in a cluster without any, and returns what its parts take: with none of them, with each number
// of them, and for the incidents at the end.
func MeasureCosts(ctx context.Context, c *Cluster, o CostOptions) (*CostReport, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	m := &costs{c: c, options: o}
	var err error
	if m.db, err = c.openDatabase("vigil", portVigilDatabase, "vigil"); err != nil {
		return nil, err
	}
	defer func() { _ = m.db.Close() }()
	if m.target, err = c.startTarget(ctx); err != nil {
		return nil, err
	}
	defer func() { _ = m.target.Kill(context.WithoutCancel(ctx)) }()
	report := &CostReport{Options: o}
	if report.Rest, err = m.during(ctx, o.Measure); err != nil {
		return nil, err
	}
	for _, n := range o.Checks {
		if err := m.grow(ctx, n); err != nil {
			return nil, err
		}
		with, err := m.during(ctx, o.Measure)
		if err != nil {
			return nil, err
		}
		with.Checks = n
		report.With = append(report.With, with)
	}
	if o.Incidents > 0 {
		if report.BeforeIncidents, report.Incidents, err = m.incidents(ctx); err != nil {
			return nil, err
		}
	}
	return report, nil
}

// portTarget is that of the target of a measurement, on this machine.
const portTarget = "8483"

func (c *Cluster) targetURL() string {
	return "http://" + net.JoinHostPort(c.outsideHost(), portTarget)
}

// startTarget runs Target as a process of its own, whose CPU time is the yardstick.
func (c *Cluster) startTarget(ctx context.Context) (*Host, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	h := &Host{Kind: "target", Name: "target", Address: c.outsideHost(), network: loopback{}, logs: c.path("logs")}
	h.add(program{name: "target", argv: []string{self, "target", net.JoinHostPort(h.Address, portTarget)}})
	if err := h.Start(); err != nil {
		return nil, err
	}
	return h, c.until(ctx, "the target answers", func(ctx context.Context) error { return post(ctx, c.targetURL()+"/heal") })
}

// Target serves what is around a cluster, see outside, at an address until ctx ends. After a request to /break what is below
// /flapping/ fails, until one to /heal.
func Target(ctx context.Context, address string) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return err
	}
	around := &outside{events: make(map[string]map[string][]string)}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /break", func(http.ResponseWriter, *http.Request) { around.setBroken(true) })
	mux.HandleFunc("POST /heal", func(http.ResponseWriter, *http.Request) { around.setBroken(false) })
	mux.Handle("/", around)
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// post makes a request without a body.
func post(ctx context.Context, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	return response.Body.Close()
}

// clients is how many requests make checks at once.
const clients = 8

// grow makes checks until there are n, and waits until they are settled.
func (m *costs) grow(ctx context.Context, n int) error {
	if err := m.make(ctx, n-m.made, "steady", nil); err != nil {
		return err
	}
	m.made = n
	return m.settle(ctx)
}

// make makes checks of paths below /kind/, and calls then with each.
func (m *costs) make(ctx context.Context, n int, kind string, then func(ctx context.Context, id string) error) error {
	regions := regionKeys()[:m.c.options.Sizes.Regions]
	first := m.made
	var done atomic.Int64
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(clients)
	for i := range n {
		group.Go(func() error {
			var made struct {
				ID string `json:"id"`
			}
			// A region that is late takes no load for some seconds, and the next attempt is the one that counts.
			if err := m.until(ctx, "a check is made", func(ctx context.Context) error {
				return m.c.call(ctx, http.MethodPost, "/v1/checks", map[string]any{
					"name": kind + " " + strconv.Itoa(first+i), "type": "http", "interval_seconds": int(m.options.Interval.Seconds()),
					"regions": regions[i%len(regions) : i%len(regions)+1],
					"config":  map[string]any{"url": fmt.Sprintf("%s/%s/%d", m.c.targetURL(), kind, first+i)},
				}, &made)
			}); err != nil {
				return err
			}
			if all := done.Add(1); all%1000 == 0 {
				m.c.log.InfoContext(ctx, "made", "checks", all, "of", n)
			}
			if then == nil {
				return nil
			}
			return then(ctx, made.ID)
		})
	}
	return group.Wait()
}

// settle waits until each loop has a result, and then until turns cover as many slots as they will, or the time for it is over.
func (m *costs) settle(ctx context.Context) error {
	// An answer that is lost makes a second check.
	if err := none(ctx, m.db, "SELECT abs(count(*) - $1) FROM checks WHERE drill_id IS NULL", m.made); err != nil {
		return fmt.Errorf("the checks are not the %d that were made: %w", m.made, err)
	}
	if err := m.until(ctx, "each loop has a result", func(ctx context.Context) error {
		return none(ctx, m.db, "SELECT count(*) FROM check_regions WHERE active AND last_slot IS NULL")
	}); err != nil {
		return err
	}
	deadline := time.Now().Add(m.options.Settle)
	for last, same := -1, 0; same < 2 && time.Now().Before(deadline); {
		var slots int
		if err := m.db.QueryRowContext(ctx, "SELECT coalesce(sum(turn_slots), 0) FROM check_regions").Scan(&slots); err != nil {
			return err
		}
		if slots != last {
			last, same = slots, 0
		} else {
			same++
		}
		if err := timing.Sleep(ctx, m.options.Interval/2); err != nil {
			return err
		}
	}
	m.c.log.InfoContext(ctx, "settled", "checks", m.made)
	return nil
}

// patience is how long a measurement waits for one thing.
const patience = 20 * time.Minute

func (m *costs) until(ctx context.Context, what string, do func(context.Context) error) error {
	return within(ctx, patience, what, do)
}

// incidents makes checks that fail at once and heal, and returns what is taken before that and meanwhile.
func (m *costs) incidents(ctx context.Context) (before, meanwhile *Cost, err error) {
	var channel struct {
		ID string `json:"id"`
	}
	if err := m.c.call(ctx, http.MethodPost, "/v1/notification-channels", map[string]any{
		"name": "receiver", "type": "webhook", "config": map[string]any{"url": m.c.targetURL() + "/hook", "secret": receiverSecret},
	}, &channel); err != nil {
		return nil, nil, err
	}
	if err := m.make(ctx, m.options.Incidents, "flapping", func(ctx context.Context, id string) error {
		return m.c.call(ctx, http.MethodPost, "/v1/checks/"+id+"/alerts", map[string]any{
			"name": "fails", "condition": map[string]any{"failure_threshold": 1}, "notification_channel_ids": []string{channel.ID},
			"notify_on": "both",
		}, nil)
	}); err != nil {
		return nil, nil, err
	}
	m.made += m.options.Incidents
	if err := m.settle(ctx); err != nil {
		return nil, nil, err
	}
	if before, err = m.during(ctx, m.options.Measure); err != nil {
		return nil, nil, err
	}
	meanwhile, err = m.while(ctx, func(ctx context.Context) error {
		if err := post(ctx, m.c.targetURL()+"/break"); err != nil {
			return err
		}
		for _, each := range []struct{ then, what, query string }{
			{"/heal", "each failing check has an incident", "SELECT $1 - count(*) FROM incidents"},
			{"", "each incident has its end", "SELECT $1 - count(*) FROM incidents WHERE status = 'resolved'"},
			{"", "each message is sent", "SELECT 2 * $1 - count(*) FROM deliveries WHERE status <> 'pending'"},
		} {
			if err := m.until(ctx, each.what, func(ctx context.Context) error {
				return none(ctx, m.db, each.query, m.options.Incidents)
			}); err != nil {
				return err
			}
			if each.then != "" {
				if err := post(ctx, m.c.targetURL()+each.then); err != nil {
					return err
				}
			}
		}
		return nil
	})
	return before, meanwhile, err
}
