package main

import (
	"context"
	"log/slog"
	"net/netip"
	"slices"
	"sync"
	"testing"
)

func TestPlatform(t *testing.T) {
	t.Parallel()

	t.Run("StopsEverythingThatStartedSideBySide", func(t *testing.T) {
		t.Parallel()
		p := newPlatform(settings{}, slog.New(slog.DiscardHandler))
		const parts = 2000
		var starting sync.WaitGroup
		stopped := 0
		for range 2 {
			starting.Go(func() {
				for range parts {
					p.onStop(func(context.Context) { stopped++ })
				}
			})
		}
		starting.Wait()
		p.stop(t.Context())
		if stopped != 2*parts {
			t.Errorf("%d parts were stopped of %d", stopped, 2*parts)
		}
	})

	t.Run("RefusesToProbeItsDatabase", func(t *testing.T) {
		t.Parallel()
		for dsn, want := range map[string]string{
			"postgres://vigil:secret@127.0.0.1:6432/vigil":                       "127.0.0.1:6432",
			"postgres://vigil@localhost/vigil":                                   "127.0.0.1:5432",
			"postgres://vigil@nowhere.onion,10.0.0.7:6000/vigil?sslmode=disable": "10.0.0.7:6000", // nobody is asked for that name
			"host=::1 port=7000 user=vigil dbname=vigil":                         "[::1]:7000",
		} {
			p := newPlatform(settings{}, slog.New(slog.DiscardHandler))
			p.dsn = dsn
			_ = p.openStore(canceled(t), false) // nothing is there
			if !slices.Contains(p.refused, netip.MustParseAddrPort(want)) {
				t.Errorf("%s: refuses %v, want %s", dsn, p.refused, want)
			}
		}
	})
}

func canceled(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}
