// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"context"
	"log/slog"
	"net/netip"
	"os"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestProcess(t *testing.T) {
	t.Parallel()

	t.Run("StopsEverythingThatStartedInParallel", func(t *testing.T) {
		t.Parallel()
		p := NewProcess(slog.New(slog.DiscardHandler), Program{Version: "v1.2.3", Env: os.LookupEnv})
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
		p.Stop(t.Context())
		if stopped != 2*parts {
			t.Errorf("%d parts were stopped of %d", stopped, 2*parts)
		}
	})

	t.Run("StopsInTimeWithSlowWorkers", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			p := NewProcess(slog.New(slog.DiscardHandler), Program{Version: "v1.2.3", Env: os.LookupEnv})
			began := time.Now()
			ended := map[string]time.Duration{}
			var left time.Duration // for the server
			takes := func(what string, d time.Duration) func(context.Context) {
				return func(ctx context.Context) {
					if end, _ := ctx.Deadline(); what == "server" {
						left = time.Until(end)
					}
					time.Sleep(d) // ignores ctx, as a worker does
					p.mu.Lock()
					defer p.mu.Unlock()
					ended[what] = time.Since(began)
				}
			}
			p.onStopBy(databaseBy, takes("database", time.Second))
			p.onStopBy(serverBy, takes("server", time.Second))
			p.onStop(takes("API", 100*time.Millisecond))
			p.onStopWorkers(takes("control", 10*time.Second))
			p.onStopWorkers(takes("regions", 15*time.Second)) // longer than its bound
			p.Stop(canceled(t))
			took := time.Since(began)
			p.mu.Lock()
			if took > 14*time.Second || left < 1500*time.Millisecond {
				t.Errorf("took %v, with %v for the server: %v", took, left, ended)
			}
			if ended["control"] != 10*time.Second || ended["API"] > ended["server"] || ended["server"] > ended["database"] ||
				ended["database"] == 0 {
				t.Errorf("ended after %v", ended)
			}
			p.mu.Unlock()
			time.Sleep(time.Minute) // what was abandoned ends
		})
	})

	t.Run("RefusesToProbeItsDatabase", func(t *testing.T) {
		t.Parallel()
		for dsn, want := range map[string]string{
			"postgres://vigil:secret@127.0.0.1:6432/vigil":                       "127.0.0.1:6432",
			"postgres://vigil@localhost/vigil":                                   "127.0.0.1:5432",
			"postgres://vigil@nowhere.onion,10.0.0.7:6000/vigil?sslmode=disable": "10.0.0.7:6000", // a name that has no address
			"host=::1 port=7000 user=vigil dbname=vigil":                         "[::1]:7000",
		} {
			refused := resolveAll(t.Context(), ownAddresses(inputs{dsn: dsn}))
			if !slices.Contains(refused, netip.MustParseAddrPort(want)) {
				t.Errorf("%s: refuses %v, want %s", dsn, refused, want)
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
