// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/vigil-monitor/vigil/internal/timing"
)

// TakeSplit divides the hosts into two halves that do not reach each other. Each half has one of two hosts of a kind,
// and one Postgres of each kind. One of them has two of three members of etcd.
const TakeSplit Take = "split into halves"

// What of a split: which half has the primaries. The proxy is beside two of etcd where it is not said otherwise.
const (
	splitWithMost  = "primaries beside two of etcd"
	splitWithFew   = "primaries beside one of etcd"
	splitWithProxy = "primaries and proxy beside one of etcd" // clients reach the primaries that are to be replaced
)

func splits(rounds int) (all []Drill) {
	for _, what := range []string{splitWithMost, splitWithFew, splitWithProxy} {
		all = append(all, repeated(what, TakeSplit, rounds)...)
	}
	return all
}

// split divides the hosts for a time.
func (d *Drills) split(ctx context.Context, drill Drill) error {
	n, ok := d.c.network.(*namespaces)
	if !ok {
		return errNoCut
	}
	if err := d.replicated(ctx); err != nil {
		return err
	}
	standbys, err := d.standbys(ctx)
	if err != nil {
		return err
	}
	most, few := halves(d.c.All(), standbys, drill.What)
	err = errors.Join(n.refuse(most, few), n.refuse(few, most))
	if err == nil {
		err = timing.Sleep(ctx, d.options.Away)
	}
	return errors.Join(err, n.accept(d.c.All()))
}

// standbys are the hosts of Postgres that are not a primary now.
func (d *Drills) standbys(ctx context.Context) (map[*Host]bool, error) {
	are := make(map[*Host]bool)
	for _, h := range slices.Concat(d.c.Hosts(KindTemporalPostgres), d.c.Hosts(KindVigilPostgres)) {
		standby, err := d.c.isStandby(ctx, h)
		if err != nil {
			return nil, fmt.Errorf("ask %s what it is: %w", h.Name, err)
		}
		are[h] = standby
	}
	return are, nil
}

// halves are the hosts of the half with the most members of etcd, and those of the other one. Hosts of a kind, and workers of a
// region, are in them in turn.
func halves(all []*Host, standbys map[*Host]bool, what string) (most, few []*Host) {
	type group struct {
		kind   Kind
		region string
	}
	before := make(map[group]int)
	for _, h := range all {
		of := group{h.Kind, h.Region}
		first := before[of]%2 == 0
		before[of]++
		if standby, ok := standbys[h]; ok {
			first = standby != (what == splitWithMost)
		}
		if h.Kind == KindProxy || h.Kind == KindRelay { // who goes by the relay goes on by the proxy
			first = what != splitWithProxy
		}
		if first {
			most = append(most, h)
		} else {
			few = append(few, h)
		}
	}
	return most, few
}

// replicated waits until each Postgres has a standby that a commit waits for: without one the primary is not replaced.
func (d *Drills) replicated(ctx context.Context) error {
	for user, port := range map[string]string{"temporal": portTemporalDatabase, "vigil": portVigilDatabase} {
		if err := d.standbyIsSynchronous(ctx, user, port); err != nil {
			return err
		}
	}
	return nil
}

func (d *Drills) standbyIsSynchronous(ctx context.Context, user, port string) error {
	db, err := d.c.openDatabase("postgres", port, "postgres")
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	return d.until(ctx, d.options.Patience, "the standby of "+user+" is synchronous", func(ctx context.Context) error {
		return synchronous(ctx, db)
	})
}

// refuse lets hosts drop what comes from others, until accept.
func (n *namespaces) refuse(hosts, from []*Host) error {
	addresses := make([]string, len(from))
	for i, h := range from {
		addresses[i] = h.Address
	}
	rules := "add table inet split\n" +
		"add chain inet split split { type filter hook input priority 0; }\n" +
		"add rule inet split split ip saddr { " + strings.Join(addresses, ", ") + " } drop"
	var errs []error
	for _, h := range hosts { // in one command each, so that all are divided within a moment
		errs = append(errs, n.nft(h, rules))
	}
	return errors.Join(errs...)
}

// accept ends refuse.
func (n *namespaces) accept(hosts []*Host) error {
	var errs []error
	for _, h := range hosts { // a table that is added is there, also where refuse failed
		errs = append(errs, n.nft(h, "add table inet split\ndelete table inet split"))
	}
	return errors.Join(errs...)
}
