// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/vigil-monitor/vigil/internal/cluster"
)

// costs measures a cluster, and then the same checks on one machine.
func costs(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("costs", flag.ExitOnError)
	var m cluster.CostOptions
	checks := flags.String("checks", "1000", "how many checks, one number after the other with commas")
	flags.DurationVar(&m.Interval, "interval", time.Minute, "of the checks")
	flags.DurationVar(&m.Settle, "settle", 10*time.Minute, "how long to wait at most until turns cover as many slots as they will")
	flags.DurationVar(&m.Measure, "for", 2*time.Minute, "how long to measure")
	flags.IntVar(&m.Incidents, "incidents", 100, "how many incidents are opened at once, 0: none")
	alone := flags.Bool("alone", false, "do not measure the same checks on one machine after that")
	o, err := options(flags, args)
	if err != nil {
		return err
	}
	for text := range strings.SplitSeq(*checks, ",") {
		n, err := strconv.Atoi(text)
		if err != nil {
			return fmt.Errorf("-checks are numbers with commas between them, and not %q", *checks)
		}
		m.Checks = append(m.Checks, n)
	}
	if err := m.Validate(); err != nil {
		return err
	}
	if err := withCluster(ctx, o, func(c *cluster.Cluster) error {
		report, err := cluster.MeasureCosts(ctx, c, m)
		if err != nil {
			return err
		}
		return report.WriteMarkdown(os.Stdout)
	}); err != nil || *alone {
		return err
	}
	for _, n := range m.Checks {
		one := exec.CommandContext(ctx, o.Vigil, "bench", "loops", "--loops", strconv.Itoa(n), //nolint:gosec // the program of the flags
			"--interval", m.Interval.String(), "--settle", m.Settle.String(), "--for", m.Measure.String())
		one.Stdout, one.Stderr = os.Stdout, os.Stderr
		if err := one.Run(); err != nil {
			return err
		}
	}
	return nil
}
