// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/vigil-monitor/vigil/internal/console"
)

// watched makes a command that can show its answer again and again, with --watch.
func (a *app) watched(cmd *cobra.Command, do func(ctx context.Context, s *session, args []string) error) {
	var watch bool
	var interval time.Duration
	cmd.Flags().BoolVar(&watch, "watch", false, "show it again whenever an incident changes and after each interval; in a pipe, what changed")
	cmd.Flags().DurationVar(&interval, "interval", 5*time.Second, "longest `duration` between two looks with --watch")
	cmd.RunE = a.does(func(ctx context.Context, s *session, args []string) error {
		if !watch {
			return do(ctx, s, args)
		}
		if interval < time.Second {
			return console.Errorf(console.Usage, "--interval is %s; it must be at least 1s", interval)
		}
		return s.watch(ctx, interval, func(s *session) error { return do(ctx, s, args) })
	})
}

// watch looks again until ctx ends. A server that does not answer for a while is waited
// for; the first look has to succeed.
func (s *session) watch(ctx context.Context, interval time.Duration, look func(*session) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	changed := s.changes(ctx)
	tick := time.NewTicker(interval)
	defer tick.Stop()
	var last string
	for first := true; ; first = false {
		now, err := s.look(look)
		switch code := console.CodeOf(err); {
		case code == console.Done, code == console.No:
			if err := s.redraw(last, now); err != nil {
				return err
			}
			last = now
		case first || code != console.Unreachable:
			return err
		default:
			s.Note("%v", err)
		}
		select {
		case <-ctx.Done():
			return console.Errorf(console.Interrupted, "interrupted: %w", ctx.Err())
		case <-tick.C:
		case <-changed:
		}
	}
}

// changes receives a value when an incident has changed. Without a stream it receives none.
func (s *session) changes(ctx context.Context) <-chan struct{} {
	changed := make(chan struct{}, 1)
	silent := *s
	con := *s.Console
	con.Err = io.Discard
	silent.Console = &con
	go func() {
		_ = silent.alerts(ctx, "", func(alert) error {
			select {
			case changed <- struct{}{}:
			default:
			}
			return nil
		}, nil)
	}()
	return changed
}

// look returns what a command prints.
func (s *session) look(look func(*session) error) (string, error) {
	var out bytes.Buffer
	con := *s.Console
	con.Out = &out
	one := *s
	one.Console = &con
	err := look(&one)
	return out.String(), err
}

// redraw replaces what a terminal shows. In a pipe it prints the rows that are new.
func (s *session) redraw(last, now string) error {
	if s.OutTTY {
		_, err := fmt.Fprintf(s.Out, "\x1b[H\x1b[2J%s", now)
		return err
	}
	if s.Format != console.Table && s.Format != console.Wide || s.Query != nil {
		if now != last {
			_, err := io.WriteString(s.Out, now)
			return err
		}
		return nil
	}
	known := map[string]bool{}
	for line := range strings.SplitSeq(last, "\n") {
		known[line] = true
	}
	for line := range strings.SplitSeq(strings.TrimSuffix(now, "\n"), "\n") {
		if !known[line] && line != "" {
			if _, err := fmt.Fprintln(s.Out, line); err != nil {
				return err
			}
		}
	}
	return nil
}
