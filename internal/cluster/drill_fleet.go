// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cluster

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/vigil-monitor/vigil/internal/timing"
)

// What drills do to all hosts of a kind together.
const (
	// TakeRestart is for all hosts of some kinds, see Rolling: each is stopped and started, one after the other.
	TakeRestart Take = "restarted in turn"
	// TakeUpgrade is for those of Temporal in a cluster that began with the previous version: the schema is brought to
	// the new one, and then each host is stopped and started with it, one after the other.
	TakeUpgrade Take = "upgraded in turn"
	// TakeAdd adds a host of the kind, which stays.
	TakeAdd Take = "one added"
	// TakeRemove stops the host of the kind that is there for the longest time, which does not come back.
	TakeRemove Take = "one removed"
	// TakeFleet is for the workers of a region: more are added until there are six, then all but the newest are stopped
	// at once, and at the end there are as many as before.
	TakeFleet Take = "to six, then to one"
)

// Rolling are the kinds of hosts that are restarted together, by what a drill calls them.
func Rolling() map[string][]Kind {
	return map[string][]Kind{
		"temporal": {KindHistory, KindMatching, KindFrontend, KindTemporalWorker},
		"vigil":    {KindAPI, KindControl, KindWorker},
	}
}

// rollingHosts are the hosts of Rolling; none for another name.
func (c *Cluster) rollingHosts(what string) (all []taken) {
	for _, kind := range Rolling()[what] {
		for _, h := range c.Hosts(kind) {
			all = append(all, taken{Host: h})
		}
	}
	return all
}

// inTurn stops and starts one host after the other, as programs of the new version where they are upgraded.
func (d *Drills) inTurn(ctx context.Context, hosts []taken, take Take) error {
	if take == TakeUpgrade {
		if err := d.c.beginUpgrade(ctx); err != nil {
			return err
		}
	}
	var errs []error
	for _, h := range hosts {
		if take == TakeUpgrade {
			d.c.upgrade(h.Host)
		}
		errs = append(errs, h.restart(ctx), timing.Sleep(ctx, rollingPause))
	}
	return errors.Join(errs...)
}

// resize does what changes how many hosts there are of a kind. The cluster has as many as before where it is undone.
func (d *Drills) resize(ctx context.Context, drill Drill) error {
	kind := Kind(drill.What)
	switch drill.Take {
	case TakeAdd:
		_, err := d.c.Add(kind, "")
		return errors.Join(err, timing.Sleep(ctx, d.options.Away))
	case TakeRemove:
		hosts := d.c.Hosts(kind)
		if len(hosts) < 2 {
			return fmt.Errorf("the last host of %s cannot be removed", kind)
		}
		d.remove(ctx, hosts[0])
		return timing.Sleep(ctx, d.options.Away)
	default:
		return d.resizeFleet(ctx, regionKeys()[(drill.Round-1)%d.c.options.Sizes.Regions])
	}
}

// largeFleet is how many workers a region has at most in TakeFleet.
const largeFleet = 6

func (d *Drills) resizeFleet(ctx context.Context, region string) error {
	before := d.c.ofKind(KindWorker, region)
	for range largeFleet - len(before) {
		if _, err := d.c.Add(KindWorker, region); err != nil {
			return err
		}
	}
	err := timing.Sleep(ctx, d.options.Away)
	all := d.c.ofKind(KindWorker, region)
	d.remove(ctx, all[:len(all)-1]...)
	err = errors.Join(err, timing.Sleep(ctx, d.options.Away))
	for range len(before) - 1 {
		_, added := d.c.Add(KindWorker, region)
		err = errors.Join(err, added)
	}
	return err
}

// remove removes hosts at once.
func (d *Drills) remove(ctx context.Context, hosts ...*Host) {
	limited, cancel := context.WithTimeout(ctx, stopLimit)
	defer cancel()
	var all sync.WaitGroup
	for _, h := range hosts {
		all.Go(func() { d.c.Remove(limited, h) })
	}
	all.Wait()
}
