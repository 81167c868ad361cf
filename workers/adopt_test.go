// SPDX-License-Identifier: Apache-2.0

//go:build !slim

package workers_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/sdk/client"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/dispatch"
	"github.com/vigil-monitor/vigil/internal/fleet"
	"github.com/vigil-monitor/vigil/storage"
	"github.com/vigil-monitor/vigil/workers"
	"github.com/vigil-monitor/vigil/workers/workerstest"
)

// askedBuilds counts the questions that a worker asks Temporal.
type askedBuilds struct {
	*dispatch.Turns

	answers atomic.Int64
}

func (b *askedBuilds) CurrentBuild(ctx context.Context, region string) (string, error) {
	build, err := b.Turns.CurrentBuild(ctx, region)
	if err == nil {
		b.answers.Add(1)
	}
	return build, err
}

// adoptions are workers of several builds, and a loop whose worker dies.
type adoptions struct {
	*testing.T
	p      *workerstest.ControlPlane
	writer *storage.ResultWriter
	slot   time.Time
}

// lose makes the loop that of a worker of a build, with an open turn, and revokes its lease.
func (a *adoptions) lose(worker, build string) {
	a.Helper()
	_, err := a.p.Store.RenewLease(a.Context(), fleet.Renewal{Worker: worker, Regions: []string{newark}, Build: build})
	a.p.OK(err)
	a.slot = a.slot.Add(time.Minute)
	_, err = a.writer.Write(a.Context(), vigil.ResultRow{
		Worker: worker, TurnSlots: 9,
		Result: vigil.Result{
			ID: uuid.New(), CheckID: a.p.Check.ID, Region: newark, Slot: a.slot, Time: a.slot, Observation: vigil.Observation{Success: true},
		},
		Turn: &vigil.TurnActivity{RunID: uuid.New(), ActivityID: "5", Ends: time.Now().Add(time.Hour)},
	})
	a.p.OK(err)
	_, err = a.p.Store.DB().ExecContext(a.Context(), `UPDATE worker_leases SET renewed_at = '-infinity', revoked_at = clock_timestamp()
		WHERE worker = ?`, worker)
	a.p.OK(err)
}

// start starts a worker of a build, with what it asks Temporal.
func (a *adoptions) start(name string, deployment workers.Deployment) (*regionWorker, *askedBuilds) {
	a.Helper()
	w, asked := &regionWorker{}, &askedBuilds{Turns: dispatch.NewTurns(a.p.Temporal, "vigil")}
	w.start(a.T, a.p, workers.RegionOptions{Name: name, Regions: []string{newark}, Deployment: deployment, Builds: asked})
	return w, asked
}

func (a *adoptions) owner() string {
	a.Helper()
	loops, err := a.p.Store.Loops(a.Context(), a.p.Org.ID, a.p.Check.ID)
	a.p.OK(err)
	return loops[0].Worker
}

// adopts waits until a worker has the loop of one that died.
func (a *adoptions) adopts(name string) {
	a.Helper()
	eventually(a.T, name+" adopts the turn", func() bool { return a.owner() == name })
}

// promote makes a build current once the server has seen its polls.
func (a *adoptions) promote(build string) {
	a.Helper()
	handle := a.p.Temporal.WorkerDeploymentClient().GetHandle("vigil")
	eventually(a.T, build+" is the current build", func() bool {
		_, err := handle.SetCurrentVersion(a.Context(), client.WorkerDeploymentSetCurrentVersionOptions{
			BuildID: build, IgnoreMissingTaskQueues: true,
		})
		return err == nil
	})
}

// TestAdoptionByBuild tests that the open turns of a worker that died go on at workers of its
// build or of the current one, and at no others.
func TestAdoptionByBuild(t *testing.T) {
	t.Parallel()
	p := workerstest.Start(t, newark)
	a := &adoptions{T: t, p: p, writer: storage.NewResultWriter(p.Store, storage.WriterOptions{}), slot: time.Now().Add(time.Hour)}
	go func() { _ = a.writer.Run(context.WithoutCancel(t.Context())) }() // until Close
	t.Cleanup(a.writer.Close)
	leaves := func(asked *askedBuilds, name, worker string) {
		t.Helper()
		before := asked.answers.Load()
		eventually(t, name+" has asked for the current build", func() bool { return asked.answers.Load() >= before+2 })
		if owner := a.owner(); owner != worker {
			t.Fatalf("%s has the loop of %s", owner, worker)
		}
	}
	a.lose("lost-1", "")
	plain, _ := a.start("plain", workers.Deployment{})
	a.adopts("plain")

	// Nothing is promoted, so Temporal gives the work to unversioned workers.
	a.lose("lost-2", "vigil.a")
	a.adopts("plain")
	plain.stop()
	a.lose("lost-3", "vigil.a")
	b, bAsked := a.start("b", workers.Deployment{Name: "vigil", BuildID: "b"})
	leaves(bAsked, "b", "lost-3")
	first, _ := a.start("a", workers.Deployment{Name: "vigil", BuildID: "a"})
	a.adopts("a") // of its own build

	// A build without a worker that lives.
	first.stop()
	a.lose("lost-4", "vigil.a")
	leaves(bAsked, "b", "lost-4")
	a.promote("b")
	a.adopts("b")
	a.lose("lost-5", "")
	a.adopts("b")

	// The workers of other builds leave the turns of the current one to it.
	b.stop()
	a.lose("lost-6", "vigil.b")
	_, plainAsked := a.start("plain-2", workers.Deployment{})
	leaves(plainAsked, "plain-2", "lost-6")
	_, firstAsked := a.start("a-2", workers.Deployment{Name: "vigil", BuildID: "a"})
	leaves(firstAsked, "a-2", "lost-6")
}
