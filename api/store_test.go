// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"testing"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/fleet"
	"github.com/vigil-monitor/vigil/storage"
	"github.com/vigil-monitor/vigil/storage/storagetest"
)

// onDatabase is a testServer that does not serve yet.
func onDatabase(t *testing.T, dsn string) *testServer {
	t.Helper()
	b := &testServer{loops: &loopRecorder{}, clock: newClock(), log: &syncBuffer{}}
	b.store = storagetest.Open(t, dsn, func(o *storage.Options) { o.Now = b.clock.Now })
	b.incidents = &incidentStub{store: b.store}
	return b
}

// works lets a worker report from a region, for an hour: a slow
// machine would take longer than the silence after which a region is offline.
func (b *testServer) works(t *testing.T, worker, region string, unavailable ...vigil.CheckType) {
	t.Helper()
	if _, err := b.store.RenewLease(
		t.Context(),
		fleet.Renewal{Worker: worker, Regions: []string{region}, Unavailable: unavailable},
	); err != nil {
		t.Fatal(err)
	}
	later := "UPDATE worker_leases SET renewed_at = renewed_at + interval '1 hour' WHERE worker = ?"
	if _, err := b.store.DB().NewRaw(later, worker).Exec(t.Context()); err != nil {
		t.Fatal(err)
	}
}
