// SPDX-License-Identifier: Apache-2.0

package probe_test

import (
	"context"
	"syscall"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/probe"
)

// BenchmarkTypes runs every type against its healthy target. The CPU time is
// that of both sides: target and probe share the process.
func BenchmarkTypes(b *testing.B) {
	w := newWorld(b)
	known := allFixtures(w)
	for _, kind := range w.Types() {
		b.Run(string(kind), func(b *testing.B) {
			if err := w.Available(b.Context())[kind]; err != nil {
				b.Skip(err)
			}
			parsed := w.must(kind, known[kind].healthy)
			b.ReportAllocs()
			before := cpu(b)
			for b.Loop() {
				if seen := parsed.Run(b.Context()); !seen.Success {
					b.Fatal(seen.Error)
				}
			}
			b.ReportMetric(float64((cpu(b)-before).Microseconds())/float64(b.N), "cpu-µs/op")
		})
	}
}

// BenchmarkEvidence is what it costs to be ready for a failure that does not come.
func BenchmarkEvidence(b *testing.B) {
	w := newWorld(b)
	parsed := w.must(vigil.TypeHTTP, fixtureHTTP(w).healthy)
	for name, ctx := range map[string]context.Context{
		"Without": b.Context(), "Ready": probe.KeepEvidence(b.Context(), func(vigil.Observation) bool { return true }),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			before := cpu(b)
			for b.Loop() {
				if seen := parsed.Run(ctx); !seen.Success {
					b.Fatal(seen.Error)
				}
			}
			b.ReportMetric(float64((cpu(b)-before).Microseconds())/float64(b.N), "cpu-µs/op")
		})
	}
}

// BenchmarkParse is what a worker pays to read a definition.
func BenchmarkParse(b *testing.B) {
	w := newWorld(b)
	config := encode(b, object{"url": "https://example.com/health", "headers": object{"Accept": "application/json"}})
	for b.Loop() {
		if _, err := w.Parse(vigil.TypeHTTPS, config, minute); err != nil {
			b.Fatal(err)
		}
	}
}

// cpu is the processor time that this process has used.
func cpu(b *testing.B) time.Duration {
	b.Helper()
	return processorTime(func(err error) { b.Fatal(err) })
}

func processorTime(fail func(error)) time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		fail(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
