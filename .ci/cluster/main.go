// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Cluster runs the platform as many machines would, see docs/production.md:
//
//	cluster up [flags]      starts it, prints what runs where, and ends it by Ctrl-C
//	cluster drills [flags]  starts it, takes its hosts one after the other, and adds a row for each to a file
//	cluster costs [flags]   starts it, and prints what its parts take beside those of one machine
//
// In containers (docker/cluster.yaml), with the directory that all of them share:
//
//	cluster files DIR SUBNET     writes certificates and configurations of all hosts
//	cluster stores DIR           makes databases and Temporal's schema
//	cluster platform DIR         makes the namespace, Vigil's schema and a key
//	cluster host DIR NAME [ARG]  becomes the program of a host, with other arguments where there are some
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/vigil-monitor/vigil/internal/cluster"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	context.AfterFunc(ctx, stop)
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "cluster:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("say up, drills or costs")
	}
	switch args[0] {
	case "up":
		return up(ctx, args[1:])
	case "drills":
		return drills(ctx, args[1:])
	case "costs":
		return costs(ctx, args[1:])
	case "target":
		if len(args) != 2 {
			return fmt.Errorf("target: say its address, as host:port")
		}
		return cluster.Target(ctx, args[1])
	case "relay":
		if len(args) < 2 {
			return fmt.Errorf("relay: say how late what it passes on arrives, such as 120ms")
		}
		late, err := time.ParseDuration(args[1])
		if err != nil {
			return err
		}
		return cluster.Relay(ctx, late, args[2:])
	case "files", "stores", "platform", "host":
		return container(ctx, args[0], args[1:])
	default:
		return fmt.Errorf("%q is not up, drills or costs", args[0])
	}
}

// container runs what a container of docker/cluster.yaml does.
func container(ctx context.Context, what string, args []string) error {
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	switch {
	case what == "files" && len(args) == 2:
		return files(ctx, args[0], args[1])
	case what == "stores" && len(args) == 1:
		return cluster.PrepareStores(ctx, args[0], log)
	case what == "platform" && len(args) == 1:
		return cluster.PreparePlatform(ctx, args[0], log)
	case what == "host" && len(args) >= 2:
		return cluster.Become(args[0], args[1], args[2:]...)
	default:
		return fmt.Errorf("%s: the arguments are DIR SUBNET of files, DIR of stores and platform, DIR HOST of host", what)
	}
}

// files writes the files of the hosts of docker/cluster.yaml: all of them with its profile "second", one of each without.
func files(ctx context.Context, dir, subnet string) error {
	base, err := cluster.ParseSubnet(subnet)
	if err != nil {
		return err
	}
	o := cluster.Options{
		Dir: dir, Sizes: cluster.SmallSizes(), Vigil: "/usr/bin/vigil", TemporalServer: "/usr/bin/temporal-server",
		TemporalSQLTool: "/usr/bin/temporal-sql-tool", TemporalConfig: "/etc/temporal", PublicURL: os.Getenv("VIGIL_PUBLIC_URL"),
	}
	if slices.Contains(strings.Split(os.Getenv("COMPOSE_PROFILES"), ","), "second") {
		o.Sizes = cluster.DefaultSizes()
		o.Sizes.Agents = 0 // theirs is a token of the platform that runs
	}
	return cluster.WriteFiles(ctx, o, base)
}

// options reads the flags of a cluster.
func options(flags *flag.FlagSet, args []string) (cluster.Options, error) {
	o := cluster.Options{Sizes: cluster.DefaultSizes(), Log: slog.New(slog.NewTextHandler(os.Stderr, nil))}
	small := flags.Bool("small", false, "one of each, without standbys: what runs on a laptop")
	network := flags.String("network", "loopback", "loopback, or namespaces: each host has a network namespace, which needs root")
	flags.StringVar(&o.Dir, "dir", "", "directory of all state, kept at the end (default: a temporary one, which is removed)")
	flags.StringVar(&o.Vigil, "vigil", "bin/vigil", "program of Vigil")
	flags.StringVar(&o.TemporalConfig, "temporal-config", "temporal-config", "directory of cluster.yaml and dynamic.yaml")
	flags.StringVar(&o.TemporalServer, "temporal-server", newest(".bin/temporal-server-*"), "program of Temporal's server")
	flags.StringVar(&o.TemporalSQLTool, "temporal-sql-tool", newest(".bin/temporal-sql-tool-*"), "its tool for the schema")
	flags.StringVar(&o.ClockPrograms.Vigil, "clock-vigil", "bin/clock/vigil", "program of Vigil whose clock drills set")
	flags.StringVar(&o.ClockPrograms.TemporalServer, "clock-temporal-server", "bin/clock/temporal-server", "and of Temporal's server")
	flags.StringVar(&o.PreviousServer, "previous-server", "", "program of an earlier version, with which the cluster starts")
	flags.StringVar(&o.PreviousSQLTool, "previous-sql-tool", "", "its tool for the schema")
	sizes := o.Sizes
	for name, size := range map[string]*int{
		"etcd": &sizes.Etcd, "postgres": &sizes.Postgres, "frontend": &sizes.Frontend, "history": &sizes.History,
		"matching": &sizes.Matching, "temporal-worker": &sizes.TemporalWorker, "api": &sizes.API, "control": &sizes.Control,
		"regions": &sizes.Regions, "workers": &sizes.WorkersOfRegion, "agents": &sizes.Agents,
	} {
		flags.IntVar(size, name, *size, "how many "+name)
	}
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	o.Sizes = sizes
	if *small {
		o.Sizes = cluster.SmallSizes()
	}
	o.Namespaces = *network == "namespaces"
	for _, path := range []*string{
		&o.Vigil, &o.TemporalConfig, &o.TemporalServer, &o.TemporalSQLTool, &o.PreviousServer, &o.PreviousSQLTool, &o.Dir,
		&o.ClockPrograms.Vigil, &o.ClockPrograms.TemporalServer,
	} {
		if *path == "" {
			continue
		}
		absolute, err := filepath.Abs(*path)
		if err != nil {
			return o, err
		}
		*path = absolute
	}
	return o, nil
}

// newest is the last file that matches, without what is being built.
func newest(pattern string) (path string) {
	found, _ := filepath.Glob(pattern) // the pattern is valid
	for _, one := range found {
		if !strings.HasSuffix(one, ".new") {
			path = one
		}
	}
	return path
}

func up(ctx context.Context, args []string) error {
	o, err := options(flag.NewFlagSet("up", flag.ExitOnError), args)
	if err != nil {
		return err
	}
	began := time.Now()
	return withCluster(ctx, o, func(c *cluster.Cluster) error {
		if err := c.WriteTable(os.Stdout); err != nil {
			return err
		}
		fmt.Printf("\nThe API is at %s, its key is %s. It took %v to start. Ctrl-C ends everything.\n",
			c.APIURL(), c.Key(), time.Since(began).Round(time.Second))
		<-ctx.Done()
		fmt.Println("ending")
		return nil
	})
}

func drills(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("drills", flag.ExitOnError)
	sizes := cluster.DrillOptions{Flapping: 10}
	flags.IntVar(&sizes.Checks, "checks", 1000, "how many checks are healthy throughout")
	flags.IntVar(&sizes.Flapping, "flapping", sizes.Flapping, "how many checks fail in each drill")
	flags.DurationVar(&sizes.Interval, "interval", 10*time.Second, "of the checks")
	flags.DurationVar(&sizes.Restart, "restart", 5*time.Second, "until a killed host is started again")
	flags.DurationVar(&sizes.Away, "away", time.Minute, "for which a host is frozen or cut off")
	flags.DurationVar(&sizes.Patience, "patience", 4*time.Minute, "how long everything may take until it is right again")
	rounds := flags.Int("rounds", 3, "how often each drill is done")
	short := flags.Bool("short", false, "the three drills of CI")
	only := flags.String("only", "", "regular expression of \"host|what happens|round\"")
	file := flags.String("rows", "bin/cluster-drills.jsonl", "file of the rows: drills that have one are not done again")
	o, err := options(flags, args)
	if err != nil {
		return err
	}
	all := cluster.AllDrills(*rounds, o.Namespaces)
	if *short {
		all = cluster.ShortDrills()
	}
	if o.PreviousServer != "" {
		all = append([]cluster.Drill{cluster.Upgrade()}, all...)
	}
	if all, err = cluster.Matching(all, *only); err != nil {
		return err
	}
	rows, err := cluster.ReadRows(*file)
	if err != nil {
		return err
	}
	if left := cluster.Left(all, rows); len(left) > 0 {
		err = runDrills(ctx, o, sizes, left, *file)
	}
	rows, readErr := cluster.ReadRows(*file)
	if writeErr := cluster.WriteMarkdown(os.Stdout, rows); err == nil {
		err = errors.Join(readErr, writeErr)
	}
	for _, row := range rows {
		if wrong := row.Wrong(); len(wrong) > 0 {
			err = errors.Join(err, fmt.Errorf("%s, %s: %s", row.Host, row.Take, strings.Join(wrong, "; ")))
		}
	}
	return err
}

func runDrills(ctx context.Context, o cluster.Options, sizes cluster.DrillOptions, left []cluster.Drill, file string) error {
	if err := o.ClockPrograms.Check(left); err != nil {
		return err
	}
	if o.Disks = cluster.NeedDisks(left); o.Disks {
		if err := cluster.WithPrivateMounts(); err != nil {
			return err
		}
	}
	return withCluster(ctx, o, func(c *cluster.Cluster) error {
		d, err := cluster.NewDrills(ctx, c, sizes)
		if err != nil {
			return err
		}
		defer d.Close()
		for i, drill := range left {
			row, err := d.Run(ctx, drill)
			if err != nil {
				return fmt.Errorf("%s, %s: %w", drill.What, drill.Take, err)
			}
			if err := cluster.AppendRow(file, row); err != nil {
				return err
			}
			fmt.Fprintf(os.Stderr, "%d of %d: %s %s: due %d, stored %d, missed %d; silent for %v (%s); API for %v; first attempt p99 %v; wrong: %q\n",
				i+1, len(left), row.Host, row.Take, row.Due, row.Stored, row.Missed, row.Silence.Round(time.Millisecond), row.Silent,
				row.APIAway.Round(time.Millisecond), row.Alerts.AttemptP99.Round(time.Millisecond), row.Wrong())
		}
		return nil
	})
}

// withCluster runs a cluster while do runs.
func withCluster(ctx context.Context, o cluster.Options, do func(*cluster.Cluster) error) (err error) {
	if o.Dir == "" {
		if o.Dir, err = os.MkdirTemp("", "vigil-cluster-"); err != nil {
			return err
		}
		defer func() {
			if err == nil {
				_ = os.RemoveAll(o.Dir)
			} else {
				fmt.Fprintln(os.Stderr, "the logs are in", filepath.Join(o.Dir, "logs"))
			}
		}()
	}
	c, err := cluster.Start(ctx, o)
	if err != nil {
		return err
	}
	defer c.Stop()
	return do(c)
}
