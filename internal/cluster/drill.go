// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cluster

import (
	"context"
	"database/sql"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/vigil-monitor/vigil/internal/timing"
)

// DrillOptions are the sizes of drills.
type DrillOptions struct {
	Checks   int           // that are healthy throughout, in all regions
	Flapping int           // that fail in each drill
	Interval time.Duration // of checks
	Restart  time.Duration // until a killed host is started again
	Away     time.Duration // for which a host is frozen or cut off
	Patience time.Duration // how long everything may take until it is right again
}

// Drills are a cluster with checks, receivers, readers and writers, of which hosts are taken.
type Drills struct {
	c       *Cluster
	options DrillOptions
	db      *sql.DB
	outside *outside
	server  *http.Server
	stop    context.CancelFunc

	flapping map[string]bool
	reader   reader
	writer   writer
	listener listener
	// missedBefore is what the listener missed in the drills before.
	missedBefore int64
}

// outsideURL is the address of targets and receivers: this machine.
func (c *Cluster) outsideURL() string { return "http://" + c.outsideHost() + ":8480" }

func (c *Cluster) outsideHost() string { return c.network.base().Addr().Next().String() }

// NewDrills makes the checks of drills, and returns once each of their loops has a result.
func NewDrills(ctx context.Context, c *Cluster, options DrillOptions) (*Drills, error) {
	d := &Drills{
		c: c, options: options, outside: &outside{events: make(map[string]map[string][]string)}, flapping: make(map[string]bool),
		writer: writer{prefix: fmt.Sprintf("written %d", time.Now().Unix())},
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort(c.outsideHost(), "8480"))
	if err != nil {
		return nil, err
	}
	d.server = &http.Server{Handler: d.outside, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = d.server.Serve(listener) }()
	if d.db, err = c.openDatabase("vigil", portVigilDatabase, "vigil"); err != nil {
		return nil, err
	}
	d.db.SetConnMaxIdleTime(time.Second) // a failover leaves no connection to the old primary
	if err := d.makeChecks(ctx); err != nil {
		d.Close()
		return nil, err
	}
	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	d.stop = stop
	go d.reader.run(background, c)
	go d.writer.run(background, c)
	go d.listener.run(background, c)
	if err := d.until(ctx, 2*startLimit, "each loop has a result", func(ctx context.Context) error {
		return d.none(ctx, "SELECT count(*) FROM check_regions WHERE active AND last_slot IS NULL")
	}); err != nil {
		d.Close()
		return nil, err
	}
	return d, nil
}

// Close ends what reads and writes.
func (d *Drills) Close() {
	if d.stop != nil {
		d.stop()
	}
	_ = d.server.Close()
	_ = d.db.Close()
}

// makeChecks makes a channel, and checks of which some have a rule.
func (d *Drills) makeChecks(ctx context.Context) error {
	var channel struct {
		ID string `json:"id"`
	}
	if err := d.c.call(ctx, http.MethodPost, "/v1/notification-channels", map[string]any{
		"name": "strict receiver", "type": "webhook",
		"config": map[string]any{"url": d.c.outsideURL() + "/hook", "secret": receiverSecret},
	}, &channel); err != nil {
		return err
	}
	regions := regionKeys()[:d.c.options.Sizes.Regions]
	for i := range d.options.Checks + d.options.Flapping {
		name, kind := "steady "+strconv.Itoa(i), "steady"
		in := []string{regions[i%len(regions)]}
		if i >= d.options.Checks {
			name, kind, in = "flapping "+strconv.Itoa(i), "flapping", regions
		}
		var made struct {
			ID string `json:"id"`
		}
		// A region that is late takes no load for some seconds, as one may be that has just begun.
		if err := d.until(ctx, startLimit, name+" is made", func(ctx context.Context) error {
			return d.c.call(ctx, http.MethodPost, "/v1/checks", map[string]any{
				"name": name, "type": "http", "interval_seconds": int(d.options.Interval.Seconds()), "regions": in,
				"config": map[string]any{"url": fmt.Sprintf("%s/%s/%d", d.c.outsideURL(), kind, i)},
			}, &made)
		}); err != nil {
			return err
		}
		if kind == "steady" {
			continue
		}
		d.flapping[made.ID] = true
		if err := d.c.call(ctx, http.MethodPost, "/v1/checks/"+made.ID+"/alerts", map[string]any{
			"name": "fails", "condition": map[string]any{"failure_threshold": 2}, "notification_channel_ids": []string{channel.ID},
			"notify_on": "both",
		}, nil); err != nil {
			return err
		}
	}
	return nil
}

// none returns an error while a query counts something.
func (d *Drills) none(ctx context.Context, query string, args ...any) error {
	return none(ctx, d.db, query, args...)
}

func none(ctx context.Context, db *sql.DB, query string, args ...any) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	var n int
	if err := db.QueryRowContext(ctx, query, args...).Scan(&n); err != nil {
		return err
	}
	if n > 0 {
		return fmt.Errorf("%d are left", n)
	}
	return nil
}

func (d *Drills) until(ctx context.Context, limit time.Duration, what string, do func(context.Context) error) error {
	return within(ctx, limit, what, do)
}

// within is until of the cluster with a limit. The error is the last that is not of the limit itself.
func within(ctx context.Context, limit time.Duration, what string, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	last := context.DeadlineExceeded
	for {
		err := do(ctx)
		if err == nil {
			return nil
		}
		if ctx.Err() == nil {
			last = err
		}
		if timing.Sleep(ctx, 200*time.Millisecond) != nil {
			return fmt.Errorf("after %v it is not so that %s: %w", limit, what, last)
		}
	}
}
