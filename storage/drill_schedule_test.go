// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/drills"
	"github.com/vigil-monitor/vigil/internal/listing"
)

// scheduled is a monthly schedule of the webhook channel.
func scheduled(a *alerts) drills.Schedule {
	a.Helper()
	s, err := a.store.CreateDrillSchedule(a.Context(), drills.Schedule{
		OrgID: a.org.ID, Name: "Monthly", Enabled: true,
		Request:    drills.Request{ChannelIDs: []uuid.UUID{a.channels[vigil.ChannelWebhook].ID}, ExpectWithin: time.Minute},
		Recurrence: drills.Recurrence{Every: drills.Monthly, Day: 1, Hour: 9, Timezone: "Europe/Berlin"},
	}, newark)
	if err != nil {
		a.Fatal(err)
	}
	return s
}

func (a *alerts) runSchedule(id uuid.UUID) *drills.Drill {
	a.Helper()
	drill, err := a.store.RunDrillSchedule(a.Context(), a.org.ID, id, newark)
	if err != nil {
		a.Fatal(err)
	}
	return drill
}

func (a *alerts) schedule(id uuid.UUID) drills.Schedule {
	a.Helper()
	s, err := a.store.DrillSchedule(a.Context(), a.org.ID, id)
	if err != nil {
		a.Fatal(err)
	}
	return s
}

// TestDrillSchedule runs one drill for each time, however many processes see that it is due.
func TestDrillSchedule(t *testing.T) {
	t.Parallel()
	a := newAlerts(t, vigil.NotifyBoth, vigil.ChannelWebhook)
	a.clock.Set(time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC))
	s := scheduled(a)
	first := time.Date(2026, 4, 1, 7, 0, 0, 0, time.UTC) // 9 in the summer time of Berlin
	if s.NextAt == nil || !s.NextAt.Equal(first) {
		t.Fatalf("the next time is %v", s.NextAt)
	}
	if drill := a.runSchedule(s.ID); drill != nil {
		t.Fatalf("before its time there is %+v", drill)
	}
	a.clock.Set(first.Add(time.Hour)) // the platform was away for that hour
	if due, err := a.store.DueDrillSchedules(t.Context(), 10); err != nil || len(due) != 1 || due[0].ID != s.ID {
		t.Fatalf("due are %+v, %v", due, err)
	}
	var group sync.WaitGroup
	made := make([]*drills.Drill, 4)
	for i := range made {
		group.Go(func() {
			var err error
			if made[i], err = a.store.RunDrillSchedule(t.Context(), a.org.ID, s.ID, newark); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if n := a.count("SELECT count(*) FROM drills WHERE schedule_id = ?", s.ID); n != 1 {
		t.Fatalf("%d drills are stored", n)
	}
	run := &drillRun{alerts: a}
	for _, drill := range made {
		if drill != nil {
			run.drill = *drill
		}
	}
	if s = a.schedule(
		s.ID,
	); s.NextAt == nil || !s.NextAt.Equal(time.Date(2026, 5, 1, 7, 0, 0, 0, time.UTC)) || s.SkippedAt != nil ||
		s.Last != nil {
		t.Errorf("the schedule is %+v", s)
	}
	run.close()
	if s = a.schedule(s.ID); s.Last == nil || s.Last.DrillID != run.drill.ID {
		t.Errorf("the last drill is %+v", s.Last)
	}
}

// TestDrillScheduleSkips leaves out what was due more than a day ago, and says so.
func TestDrillScheduleSkips(t *testing.T) {
	t.Parallel()
	a := newAlerts(t, vigil.NotifyBoth, vigil.ChannelWebhook)
	a.clock.Set(time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC))
	s := scheduled(a)
	missed := *s.NextAt
	a.clock.Set(missed.Add(drills.MaxDelay + time.Second))
	if drill := a.runSchedule(s.ID); drill != nil {
		t.Errorf("after more than a day there is %+v", drill)
	}
	if s = a.schedule(s.ID); s.SkippedAt == nil || !s.SkippedAt.Equal(missed) || !s.NextAt.After(a.clock.Now()) {
		t.Errorf("the schedule is %+v", s)
	}
}

// TestDrillScheduleWaits keeps a time due while another drill of the channel runs.
func TestDrillScheduleWaits(t *testing.T) {
	t.Parallel()
	a := newAlerts(t, vigil.NotifyBoth, vigil.ChannelWebhook)
	s := scheduled(a)
	a.clock.Set(s.NextAt.Add(time.Minute))
	run := &drillRun{alerts: a, drill: a.createDrill(drills.Request{ChannelIDs: []uuid.UUID{a.channels[vigil.ChannelWebhook].ID}})}
	if drill := a.runSchedule(s.ID); drill != nil {
		t.Errorf("beside another drill there is %+v", drill)
	}
	run.close()
	if drill := a.runSchedule(s.ID); drill == nil {
		t.Error("after the other drill there is none")
	}
}

// TestDrillScheduleFails has a drill fail aloud whose channel is disabled.
func TestDrillScheduleFails(t *testing.T) {
	t.Parallel()
	a := newAlerts(t, vigil.NotifyBoth, vigil.ChannelWebhook)
	s := scheduled(a)
	_, err := a.store.UpdateChannel(t.Context(), a.org.ID, a.channels[vigil.ChannelWebhook].ID, func(c *vigil.Channel) error {
		c.Enabled = false
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	a.clock.Set(*s.NextAt)
	drill := a.runSchedule(s.ID)
	if drill == nil {
		t.Fatal("there is no drill")
	}
	if _, err := a.store.StageDrill(t.Context(), drill.ID); vigil.ErrorCode(err) != vigil.CodeInvalid {
		t.Errorf("it is staged: %v", err)
	}
	run := &drillRun{alerts: a, drill: *drill}
	receipt := run.close().Receipt
	if receipt.Verdict != drills.Failed || len(receipt.Failures) != 1 ||
		!strings.Contains(receipt.Failures[0].Reason, "no enabled channel") {
		t.Errorf("the receipt is %s with %+v", receipt.Verdict, receipt.Failures)
	}
	if due, err := a.store.ClaimDrillNotices(t.Context(), 10); err != nil || len(due) != 1 {
		t.Errorf("the owners are mailed of %v, %v", due, err)
	}
}

// TestDrillScheduleRefusals writes schedules that cannot be.
func TestDrillScheduleRefusals(t *testing.T) {
	t.Parallel()
	a := newAlerts(t, vigil.NotifyBoth, vigil.ChannelWebhook)
	s := scheduled(a)
	for name, change := range map[string]func(*drills.Schedule){
		"Day":     func(s *drills.Schedule) { s.Recurrence.Day = 29 },
		"Hour":    func(s *drills.Schedule) { s.Recurrence.Hour = 24 },
		"Zone":    func(s *drills.Schedule) { s.Recurrence.Timezone = "Here" },
		"Every":   func(s *drills.Schedule) { s.Recurrence.Every = "daily" },
		"Channel": func(s *drills.Schedule) { s.Request.ChannelIDs = []uuid.UUID{uuid.New()} },
	} {
		_, err := a.store.UpdateDrillSchedule(t.Context(), a.org.ID, s.ID, newark, func(s *drills.Schedule) error { change(s); return nil })
		if vigil.ErrorCode(err) != vigil.CodeInvalid {
			t.Errorf("%s: %v", name, err)
		}
	}
	weekly, err := a.store.UpdateDrillSchedule(t.Context(), a.org.ID, s.ID, newark, func(s *drills.Schedule) error {
		s.Recurrence = drills.Recurrence{Every: drills.Weekly, Day: 7, Hour: 0, Timezone: "UTC"}
		return nil
	})
	if err != nil || weekly.NextAt.Weekday() != time.Sunday || weekly.Version != 2 {
		t.Errorf("weekly it is %+v, %v", weekly, err)
	}
	off, err := a.store.UpdateDrillSchedule(t.Context(), a.org.ID, s.ID, newark, func(s *drills.Schedule) error {
		s.Enabled = false
		return nil
	})
	if err != nil || off.NextAt != nil {
		t.Errorf("disabled it is %+v, %v", off, err)
	}
	if list, extent, err := a.store.DrillSchedules(
		t.Context(),
		a.org.ID,
		listing.Page{Limit: 10},
	); err != nil || len(list) != 1 ||
		extent.Total != 1 {
		t.Errorf("listed are %+v, %v", list, err)
	}
	if err := a.store.DeleteDrillSchedule(t.Context(), a.org.ID, s.ID, nil); err != nil {
		t.Fatal(err)
	}
	if err := a.store.DeleteDrillSchedule(t.Context(), a.org.ID, s.ID, nil); vigil.ErrorCode(err) != vigil.CodeNotFound {
		t.Errorf("deleted twice: %v", err)
	}
}
