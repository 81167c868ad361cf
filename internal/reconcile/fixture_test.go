// SPDX-License-Identifier: Apache-2.0

package reconcile_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/channelhealth"
	"github.com/vigil-monitor/vigil/internal/fleet"
	"github.com/vigil-monitor/vigil/internal/maintenance"
	"github.com/vigil-monitor/vigil/internal/reconcile"
)

const (
	region = "eu-central-fra"
	office = "loc-office" // a location, whose loops are run by workers of vigil.LocationsRegion
)

// errAway is what calls of a server that is away return.
var errAway = errors.New("away")

func isAway(err error) bool { return errors.Is(err, errAway) }

// emptyStore has nothing to do, and all shards for one process. Tests embed it and
// replace methods.
type emptyStore struct{}

func (emptyStore) RenewSweep(context.Context, string, []fleet.SweepLease, time.Duration) (fleet.SweepShare, error) {
	return fleet.SweepShare{Leases: allShards(1), Size: fleet.SweepShards + 1}, nil
}

// allShards are all leases with the same fence.
func allShards(fence int64) []fleet.SweepLease {
	leases := []fleet.SweepLease{{Shard: fleet.CommonShard, Fence: fence}}
	for _, shard := range fleet.EverySweepShard() {
		leases = append(leases, fleet.SweepLease{Shard: shard, Fence: fence})
	}
	return leases
}

func (emptyStore) ReleaseSweep(context.Context, string) error { return nil }

// SweepWork has every pass look.
func (emptyStore) SweepWork(context.Context, time.Time) (fleet.Work, error) {
	return fleet.Work{
		Lagging: true, Late: true, Tombstones: true, Blind: true, Locations: true, Incidents: true, Votes: true, Deliveries: true,
		Places: true, Recoveries: true, LateResults: true, Unobserved: true, Holds: true, Reclassifications: true, Drills: true,
		DrillSchedules: true, ReportSchedules: true, Notices: true, Deleted: true,
	}, nil
}

func (emptyStore) Lagging(context.Context, []int, int) ([]vigil.Loop, error) { return nil, nil }

func (emptyStore) Starting(context.Context, []int) (map[string]int, error) { return nil, nil }
func (emptyStore) WaitingToStart(context.Context, []int, time.Time) (int, time.Time, error) {
	return 0, time.Time{}, nil
}

func (emptyStore) Overdue(context.Context, time.Time, time.Duration, []string, []int, int) ([]vigil.Loop, error) {
	return nil, nil
}

func (emptyStore) NotBegun(context.Context, time.Duration, []string, []int, int) ([]vigil.Loop, error) {
	return nil, nil
}

func (emptyStore) MarkNudged(context.Context, fleet.SweepLease, uuid.UUID, string) error { return nil }

func (emptyStore) PutOffNudge(context.Context, fleet.SweepLease, uuid.UUID, string) error { return nil }

func (emptyStore) LiveLeases(context.Context, time.Duration) ([]fleet.Lease, error) { return nil, nil }

func (emptyStore) SilentLeases(context.Context, time.Duration) ([]fleet.Lease, error) {
	return nil, nil
}

func (emptyStore) RevokeLease(context.Context, fleet.Lease, time.Duration) (bool, error) {
	return true, nil
}

func (emptyStore) AbandonedLoops(context.Context, fleet.Lease, time.Duration, []int, int) ([]vigil.Loop, error) {
	return nil, nil
}

func (emptyStore) ForgetLease(context.Context, fleet.Lease, time.Duration) error { return nil }

func (emptyStore) LiveRegions(context.Context, time.Duration) (map[string][]vigil.CheckType, error) {
	return map[string][]vigil.CheckType{region: nil, vigil.LocationsRegion: nil}, nil
}

func (emptyStore) OverloadedRegions(context.Context, time.Duration) (map[string]time.Duration, error) {
	return nil, nil //nolint:nilnil // none
}

func (emptyStore) AdmitDeliveries(context.Context, int) ([]vigil.PendingDelivery, error) {
	return nil, nil
}

func (emptyStore) StalledRecoveries(context.Context, time.Time, int) ([]channelhealth.Recovery, error) {
	return nil, nil
}

func (emptyStore) Tombstones(context.Context, []int, int) ([]vigil.Tombstone, error) { return nil, nil }

func (emptyStore) LockTombstone(context.Context, vigil.Tombstone, func(context.Context) error) error {
	return nil
}

func (emptyStore) PurgeLoop(context.Context, vigil.Tombstone) (bool, error) { return true, nil }

func (emptyStore) EnsurePartitions(context.Context, time.Time) error    { return nil }
func (emptyStore) ExtendMaintenance(context.Context) error              { return nil }
func (emptyStore) DropExpired(context.Context, time.Time) error         { return nil }
func (emptyStore) PurgeOrganizations(context.Context, time.Time) error  { return nil }
func (emptyStore) ExpireChecks(context.Context, time.Time) (int, error) { return 0, nil }

func (emptyStore) StalledIncidents(context.Context, time.Time, []int, int) ([]vigil.Incident, error) {
	return nil, nil
}

func (emptyStore) MarkIncidentSwept(context.Context, fleet.SweepLease, uuid.UUID, time.Time) error {
	return nil
}

func (emptyStore) StalledDeliveries(context.Context, time.Time, []int, int) ([]vigil.PendingDelivery, error) {
	return nil, nil
}

func (emptyStore) MarkDeliverySwept(context.Context, fleet.SweepLease, vigil.PendingDelivery, time.Time) error {
	return nil
}

func (emptyStore) UnhandledVotes(context.Context, time.Time, []int, int) ([]vigil.UnhandledVote, error) {
	return nil, nil
}

func (emptyStore) MarkVoteSwept(context.Context, fleet.SweepLease, vigil.UnhandledVote, time.Time) error {
	return nil
}

func (emptyStore) RecordBlindRegions(context.Context, fleet.SweepLease, time.Duration) error {
	return nil
}

func (emptyStore) PublishBlindRegions(context.Context, int) (int, error) { return 0, nil }

func (emptyStore) UnobservedLoops(context.Context) (map[string]int64, error) {
	return map[string]int64{}, nil
}

func (emptyStore) Unobserved(context.Context, time.Time, time.Time, []int, int) ([]vigil.UnobservedCheck, error) {
	return nil, nil
}

func (emptyStore) BeginUnobserved(context.Context, fleet.SweepLease, uuid.UUID, time.Time, string) ([]vigil.PendingDelivery, error) {
	return nil, nil
}

func (emptyStore) ObservedAgain(context.Context, time.Time, []int, int) ([]vigil.UnobservedCheck, error) {
	return nil, nil
}

func (emptyStore) EndUnobserved(context.Context, fleet.SweepLease, uuid.UUID, string) ([]vigil.PendingDelivery, error) {
	return nil, nil
}

func (emptyStore) Silences(context.Context, time.Time, time.Time, []int, int) ([]vigil.RegionSilence, error) {
	return nil, nil
}

func (emptyStore) MarkSilence(context.Context, fleet.SweepLease, vigil.RegionSilence) error {
	return nil
}

func (emptyStore) PublishSilentLocations(context.Context, fleet.SweepLease, time.Time, int) (int, error) {
	return 0, nil
}

func (emptyStore) ReviewLateResults(context.Context, []int, int) (int, error) { return 0, nil }

func (emptyStore) EndedHolds(context.Context, []int, int) ([]maintenance.Hold, error) {
	return nil, nil
}

func (emptyStore) ReleaseHold(context.Context, fleet.SweepLease, maintenance.Hold) error {
	return nil
}

func (emptyStore) PutOffHold(context.Context, fleet.SweepLease, maintenance.Hold) error {
	return nil
}

func (emptyStore) DueReclassifications(context.Context, []int, int) ([]vigil.ResultSpan, error) {
	return nil, nil
}

func (emptyStore) Reclassify(context.Context, fleet.SweepLease, vigil.ResultSpan) error { return nil }

func (emptyStore) PutOffReclassification(context.Context, fleet.SweepLease, vigil.ResultSpan) error {
	return nil
}

// workflows is a Temporal that counts what it is asked for, by what and check. fail
// returns the error of a call; nil: none fails.
type workflows struct {
	fail func(ctx context.Context, what string, check uuid.UUID) error

	mu    sync.Mutex
	calls map[string][]time.Time
}

func (w *workflows) call(ctx context.Context, what string, check uuid.UUID) error {
	w.mu.Lock()
	if w.calls == nil {
		w.calls = make(map[string][]time.Time)
	}
	w.calls[what+" "+check.String()] = append(w.calls[what+" "+check.String()], time.Now())
	w.mu.Unlock()
	if w.fail == nil {
		return nil
	}
	return w.fail(ctx, what, check)
}

// of returns when the workflow of a check was called.
func (w *workflows) of(what string, check uuid.UUID) []time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.calls[what+" "+check.String()])
}

func (w *workflows) Apply(ctx context.Context, loop vigil.Loop) error {
	return w.call(ctx, "apply", loop.CheckID)
}

func (w *workflows) Nudge(ctx context.Context, loop vigil.Loop) error {
	return w.call(ctx, "nudge", loop.CheckID)
}

func (w *workflows) Running(ctx context.Context, stone vigil.Tombstone) (bool, error) {
	return false, w.call(ctx, "stop", stone.CheckID)
}

func (*workflows) Holder(context.Context, vigil.Loop) (vigil.TurnHolder, error) {
	return vigil.TurnHolder{Running: true}, nil
}

func (w *workflows) Terminate(ctx context.Context, checkID uuid.UUID, _ string) error {
	return w.call(ctx, "terminate", checkID)
}

func (w *workflows) Refresh(ctx context.Context, checkID uuid.UUID) error {
	return w.call(ctx, "refresh", checkID)
}

func (w *workflows) Revive(ctx context.Context, _, checkID uuid.UUID, _, _ string) error {
	return w.call(ctx, "revive", checkID)
}

func (w *workflows) Recover(ctx context.Context, recovery channelhealth.Recovery) error {
	return w.call(ctx, "recover", recovery.ID)
}

func (*workflows) WarnPaused(context.Context, string) error { return nil }

func (w *workflows) Send(ctx context.Context, delivery vigil.PendingDelivery) error {
	return w.call(ctx, "send", delivery.CheckID)
}

// store is what a sweep needs of a store.
type store interface {
	RenewSweep(ctx context.Context, process string, unused []fleet.SweepLease, length time.Duration) (fleet.SweepShare, error)
	ReleaseSweep(ctx context.Context, process string) error
	SweepWork(ctx context.Context, now time.Time) (fleet.Work, error)
	Lagging(ctx context.Context, shards []int, limit int) ([]vigil.Loop, error)
	Starting(ctx context.Context, shards []int) (map[string]int, error)
	WaitingToStart(ctx context.Context, shards []int, after time.Time) (int, time.Time, error)
	Overdue(ctx context.Context, now time.Time, grace time.Duration, regions []string, shards []int, limit int) ([]vigil.Loop, error)
	NotBegun(ctx context.Context, grace time.Duration, regions []string, shards []int, limit int) ([]vigil.Loop, error)
	MarkNudged(ctx context.Context, lease fleet.SweepLease, checkID uuid.UUID, region string) error
	PutOffNudge(ctx context.Context, lease fleet.SweepLease, checkID uuid.UUID, region string) error
	LiveLeases(ctx context.Context, silence time.Duration) ([]fleet.Lease, error)
	SilentLeases(ctx context.Context, silence time.Duration) ([]fleet.Lease, error)
	RevokeLease(ctx context.Context, lease fleet.Lease, silence time.Duration) (bool, error)
	AbandonedLoops(ctx context.Context, lease fleet.Lease, silence time.Duration, shards []int, limit int) ([]vigil.Loop, error)
	ForgetLease(ctx context.Context, lease fleet.Lease, silence time.Duration) error
	LiveRegions(ctx context.Context, silence time.Duration) (map[string][]vigil.CheckType, error)
	OverloadedRegions(ctx context.Context, silence time.Duration) (map[string]time.Duration, error)
	UnobservedLoops(ctx context.Context) (map[string]int64, error)
	RecordBlindRegions(ctx context.Context, lease fleet.SweepLease, silence time.Duration) error
	PublishBlindRegions(ctx context.Context, limit int) (int, error)
	AdmitDeliveries(ctx context.Context, limit int) ([]vigil.PendingDelivery, error)
	StalledRecoveries(ctx context.Context, before time.Time, limit int) ([]channelhealth.Recovery, error)
	Tombstones(ctx context.Context, shards []int, limit int) ([]vigil.Tombstone, error)
	LockTombstone(ctx context.Context, stone vigil.Tombstone, do func(context.Context) error) error
	PurgeLoop(ctx context.Context, stone vigil.Tombstone) (done bool, err error)
	EnsurePartitions(ctx context.Context, now time.Time) error
	ExtendMaintenance(ctx context.Context) error
	DropExpired(ctx context.Context, now time.Time) error
	ExpireChecks(ctx context.Context, now time.Time) (int, error)
	PurgeOrganizations(ctx context.Context, now time.Time) error
	StalledIncidents(ctx context.Context, now time.Time, shards []int, limit int) ([]vigil.Incident, error)
	MarkIncidentSwept(ctx context.Context, lease fleet.SweepLease, id uuid.UUID, at time.Time) error
	StalledDeliveries(ctx context.Context, now time.Time, shards []int, limit int) ([]vigil.PendingDelivery, error)
	MarkDeliverySwept(ctx context.Context, lease fleet.SweepLease, delivery vigil.PendingDelivery, at time.Time) error
	UnhandledVotes(ctx context.Context, now time.Time, shards []int, limit int) ([]vigil.UnhandledVote, error)
	MarkVoteSwept(ctx context.Context, lease fleet.SweepLease, vote vigil.UnhandledVote, at time.Time) error
	Silences(ctx context.Context, now, since time.Time, shards []int, limit int) ([]vigil.RegionSilence, error)
	MarkSilence(ctx context.Context, lease fleet.SweepLease, silence vigil.RegionSilence) error
	PublishSilentLocations(ctx context.Context, lease fleet.SweepLease, since time.Time, limit int) (int, error)
	ReviewLateResults(ctx context.Context, shards []int, limit int) (int, error)
	Unobserved(ctx context.Context, now, since time.Time, shards []int, limit int) ([]vigil.UnobservedCheck, error)
	BeginUnobserved(
		ctx context.Context,
		lease fleet.SweepLease,
		checkID uuid.UUID,
		since time.Time,
		publicURL string,
	) ([]vigil.PendingDelivery, error)
	ObservedAgain(ctx context.Context, now time.Time, shards []int, limit int) ([]vigil.UnobservedCheck, error)
	EndUnobserved(ctx context.Context, lease fleet.SweepLease, checkID uuid.UUID, publicURL string) ([]vigil.PendingDelivery, error)
	EndedHolds(ctx context.Context, shards []int, limit int) ([]maintenance.Hold, error)
	ReleaseHold(ctx context.Context, lease fleet.SweepLease, hold maintenance.Hold) error
	PutOffHold(ctx context.Context, lease fleet.SweepLease, hold maintenance.Hold) error
	DueReclassifications(ctx context.Context, shards []int, limit int) ([]vigil.ResultSpan, error)
	Reclassify(ctx context.Context, lease fleet.SweepLease, span vigil.ResultSpan) error
	PutOffReclassification(ctx context.Context, lease fleet.SweepLease, span vigil.ResultSpan) error
}

// sweepFor sweeps for a time and stops.
func sweepFor(t *testing.T, d time.Duration, rows store, temporal *workflows) {
	t.Helper()
	sweep := reconcile.New(optionsOf(rows, temporal))
	sweep.Start(t.Context())
	time.Sleep(d) // sleep: in a bubble only
	if err := sweep.Stop(); err != nil {
		t.Error(err)
	}
}

// optionsOf are the options of a sweep over a store and a Temporal.
func optionsOf(rows store, temporal *workflows) reconcile.Options {
	return reconcile.Options{
		Process: "test", Loops: temporal, Store: rows, Housekeeping: rows, Incidents: temporal, IncidentStore: rows,
		Away: isAway, Now: time.Now, Log: slog.New(slog.DiscardHandler),
	}
}

// newChecks returns IDs of checks, each of another shard as far as there are.
func newChecks(n int) []uuid.UUID {
	checks := make([]uuid.UUID, n)
	for i := range checks {
		checks[i] = uuid.New()
		checks[i][15] = byte(i)
	}
	return checks
}

// loopsOf returns active loops of checks.
func loopsOf(checks []uuid.UUID) []vigil.Loop {
	loops := make([]vigil.Loop, len(checks))
	for i, check := range checks {
		loops[i] = vigil.Loop{CheckID: check, Region: region, Active: true, Desired: 1}
	}
	return loops
}
