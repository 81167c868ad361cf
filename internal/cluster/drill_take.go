// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cluster

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/vigil-monitor/vigil/internal/timing"
)

// Take is what a drill does to hosts.
type Take string

// What drills do.
const (
	TakeKill   Take = "kill -9"
	TakeFreeze Take = "frozen"
	TakeCut    Take = "cut off"
	TakeCutIn  Take = "cut off, in only"
	TakeCutOut Take = "cut off, out only"
	// TakeCutLong is longer than the work of the rest can wait in memory.
	TakeCutLong Take = "cut off for ten minutes"
)

// longAway is the time of TakeCutLong.
const longAway = 10 * time.Minute

// rollingPause is between the start of a host and the stop of the next one.
const rollingPause = 5 * time.Second

// and is between the hosts of a drill that takes several at once.
const and = " and "

// taken is a host that a drill takes.
type taken struct {
	*Host

	primary bool // of a Postgres, when the drill began
}

// namesOf are the names of hosts, in one.
func namesOf(hosts []taken) string {
	names := make([]string, len(hosts))
	for i, h := range hosts {
		names[i] = h.Name
	}
	return strings.Join(names, and)
}

// hosts are those that a drill takes; none where it changes how many there are, or takes all.
func (d *Drills) hosts(ctx context.Context, drill Drill) (all []taken, err error) {
	if drill.Take == TakeCertificates {
		return d.c.certifiedHosts(drill.What), nil
	}
	if all := d.c.rollingHosts(drill.What); len(all) > 0 {
		return all, nil
	}
	if drill.resizes() || drill.Take == TakeSplit {
		return nil, nil
	}
	for what := range strings.SplitSeq(drill.What, and) {
		h, err := d.find(ctx, what, drill.Round-1)
		if err != nil {
			return nil, err
		}
		all = append(all, taken{h, strings.HasSuffix(what, " primary")})
	}
	return all, nil
}

// resizes is whether the drill changes how many hosts there are.
func (d Drill) resizes() bool {
	return d.Take == TakeAdd || d.Take == TakeRemove || d.Take == TakeFleet
}

// takeAll takes hosts at once, or restarts one after the other, and undoes it.
func (d *Drills) takeAll(ctx context.Context, hosts []taken, drill Drill) error {
	take := drill.Take
	if take == TakeRestart || take == TakeUpgrade {
		return d.inTurn(ctx, hosts, take)
	}
	if take == TakeCertificates {
		return d.exchange(ctx, hosts)
	}
	if drill.resizes() {
		return d.resize(ctx, drill)
	}
	if take == TakeSplit {
		return d.split(ctx, drill)
	}
	errs := make([]error, len(hosts))
	var all sync.WaitGroup
	for i, h := range hosts {
		all.Go(func() {
			if err := d.take(ctx, h, take); err != nil {
				errs[i] = fmt.Errorf("%s %s: %w", h.Name, take, err)
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// stopLimit is how long a host may take to stop.
const stopLimit = 30 * time.Second

// restart stops a host and starts it again.
func (h *Host) restart(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, stopLimit)
	defer cancel()
	h.Stop(limited)
	return h.Start()
}

// failoverLimit is how long a standby may take to be the primary.
const failoverLimit = 2 * time.Minute

// take does it, waits and undoes it. A primary that is killed is away until its standby is the primary.
func (d *Drills) take(ctx context.Context, h taken, take Take) error {
	switch take {
	case TakeKill:
		if err := h.Kill(ctx); err != nil {
			return err
		}
		err := timing.Sleep(ctx, d.options.Restart)
		if err == nil && h.primary {
			err = d.until(ctx, failoverLimit, "the standby is the primary", func(ctx context.Context) error {
				return d.anotherPrimary(ctx, h.Host)
			})
		}
		return errors.Join(err, h.Start())
	case TakeFreeze:
		h.Signal(syscall.SIGSTOP)
		err := timing.Sleep(ctx, d.options.Away)
		h.Signal(syscall.SIGCONT)
		return err
	case TakeFull:
		return d.fillDisk(ctx, h.Host)
	case TakeAhead, TakeBehind, TakeFarAhead, TakeFarBehind:
		return d.setClock(ctx, h.Host, clockOffset(take))
	default:
		way := map[Take]Way{TakeCut: WayBoth, TakeCutLong: WayBoth, TakeCutIn: WayIn, TakeCutOut: WayOut}[take]
		if err := d.c.Cut(h.Host, way); err != nil {
			return err
		}
		away := d.options.Away
		if take == TakeCutLong {
			away = longAway
		}
		err := timing.Sleep(ctx, away)
		return errors.Join(err, d.c.Mend(h.Host))
	}
}

// find returns the host that a drill takes: the n-th of a kind, counted round, or the primary or standby of
// a Postgres as it is now.
func (d *Drills) find(ctx context.Context, what string, n int) (*Host, error) {
	kind, place, ofPostgres := strings.Cut(what, " ")
	hosts := d.c.Hosts(Kind(kind))
	if len(hosts) == 0 {
		return nil, fmt.Errorf("the cluster has no %s", kind)
	}
	if Kind(kind) == KindWorker {
		return d.busiest(ctx, hosts, n)
	}
	if !ofPostgres {
		return hosts[n%len(hosts)], nil
	}
	for _, h := range hosts {
		standby, err := d.c.isStandby(ctx, h)
		if err == nil && standby == (place == "standby") {
			return h, nil
		}
	}
	return nil, fmt.Errorf("the cluster has no %s", what)
}

// busiest returns the worker with the most loops in the n-th region: one that was restarted has none for a while,
// as loops stay where they are, and nothing would come of its loss.
func (d *Drills) busiest(ctx context.Context, hosts []*Host, n int) (*Host, error) {
	region := regionKeys()[n%d.c.options.Sizes.Regions]
	var most *Host
	loops := -1
	for _, h := range hosts {
		if h.Region != region {
			continue
		}
		owned := 0
		for _, pid := range h.Pids() { // a worker's name has its process
			var of int
			if err := d.db.QueryRowContext(ctx, "SELECT count(*) FROM check_regions WHERE active AND region = $1 AND worker LIKE $2",
				region, fmt.Sprintf("%%/%d/%%", pid)).Scan(&of); err != nil {
				return nil, err
			}
			owned += of
		}
		if owned > loops {
			most, loops = h, owned
		}
	}
	if loops <= 0 {
		return nil, fmt.Errorf("no worker of %s has loops", region)
	}
	return most, nil
}

// anotherPrimary returns an error while no other host of the same Postgres is the primary.
func (d *Drills) anotherPrimary(ctx context.Context, than *Host) error {
	for _, h := range d.c.Hosts(than.Kind) {
		if h == than {
			continue
		}
		if standby, err := d.c.isStandby(ctx, h); err != nil {
			return err
		} else if !standby {
			return nil
		}
	}
	return errors.New("there is only a standby")
}

// isStandby asks a Postgres itself.
func (c *Cluster) isStandby(ctx context.Context, h *Host) (standby bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	db, err := sql.Open("pgx", dsn("postgres", net.JoinHostPort(h.Address, portPostgres), "postgres", c.path("operator")))
	if err != nil {
		return false, err
	}
	defer func() { _ = db.Close() }()
	err = db.QueryRowContext(ctx, "SELECT pg_is_in_recovery()").Scan(&standby)
	return standby, err
}
