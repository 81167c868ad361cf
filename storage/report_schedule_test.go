// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/overview"
)

// reportsOf is a schedule of reports to a webhook and a chat.
func reportsOf(a *alerts, at overview.ReportRecurrence) overview.ReportSchedule {
	a.Helper()
	s, err := a.store.CreateReportSchedule(a.Context(), overview.ReportSchedule{
		OrgID: a.org.ID, Name: "Shop", Enabled: true, Target: 99.9, Recurrence: at,
		Channels: []uuid.UUID{a.channels[vigil.ChannelWebhook].ID, a.channels[vigil.ChannelChat].ID},
	})
	if err != nil {
		a.Fatal(err)
	}
	return s
}

func (a *alerts) reportSchedule(id uuid.UUID) overview.ReportSchedule {
	a.Helper()
	s, err := a.store.ReportSchedule(a.Context(), a.org.ID, id)
	if err != nil {
		a.Fatal(err)
	}
	return s
}

// TestReportSchedule sends one report for each time, however many processes see that it is due, across the change
// of the clocks.
func TestReportSchedule(t *testing.T) {
	t.Parallel()
	a := newAlerts(t, vigil.NotifyBoth, vigil.ChannelWebhook, vigil.ChannelChat)
	a.clock.Set(time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC))
	s := reportsOf(a, overview.ReportRecurrence{Every: overview.Monthly, Day: 1, Hour: 9, Timezone: "Europe/Berlin"})
	first := time.Date(2026, 4, 1, 7, 0, 0, 0, time.UTC) // 9 in the summer time of Berlin
	if s.NextAt == nil || !s.NextAt.Equal(first) {
		t.Fatalf("the next time is %v", s.NextAt)
	}
	run := func() {
		if err := a.store.RunReportSchedule(t.Context(), a.org.ID, s.ID, "https://vigil.example"); err != nil {
			t.Error(err)
		}
	}
	run()
	if n := a.count("SELECT count(*) FROM events WHERE type = 'report.ready'"); n != 0 {
		t.Fatalf("before its time there are %d reports", n)
	}
	a.clock.Set(first.Add(3 * 24 * time.Hour)) // the platform was away for that time
	if due, err := a.store.DueReportSchedules(t.Context(), 10); err != nil || len(due) != 1 || due[0].ID != s.ID {
		t.Fatalf("due are %+v, %v", due, err)
	}
	var group sync.WaitGroup
	for range 4 {
		group.Go(run)
	}
	group.Wait()
	if n := a.count("SELECT count(*) FROM events WHERE type = 'report.ready'"); n != 1 {
		t.Fatalf("%d reports", n)
	}
	if n := a.count("SELECT count(*) FROM deliveries WHERE event_type = 'report.ready' AND status = 'pending'"); n != 2 {
		t.Errorf("%d deliveries", n)
	}
	var stored struct{ Title, Body, Envelope string }
	if err := a.store.DB().
		NewRaw("SELECT title, body, envelope FROM events WHERE type = 'report.ready'").
		Scan(t.Context(), &stored); err != nil {
		t.Fatal(err)
	}
	// March of Berlin begins in winter time and ends in summer time.
	for _, want := range []string{`"from":"2026-02-28T23:00:00Z"`, `"to":"2026-03-31T22:00:00Z"`, `"checks":1`} {
		if !strings.Contains(stored.Envelope, want) {
			t.Errorf("no %s in %s", want, stored.Envelope)
		}
	}
	if !strings.HasPrefix(stored.Title, "Shop: March 2026, ") || !strings.Contains(stored.Body, "1 checks.") {
		t.Errorf("%q: %q", stored.Title, stored.Body)
	}
	if s = a.reportSchedule(
		s.ID,
	); !s.NextAt.Equal(time.Date(2026, 5, 1, 7, 0, 0, 0, time.UTC)) || !s.LastAt.Equal(first) ||
		s.SkippedAt != nil {
		t.Errorf("the schedule is %+v", s)
	}

	// Away for three months: only the newest time has a report.
	a.clock.Set(time.Date(2026, 8, 2, 0, 0, 0, 0, time.UTC))
	run()
	run()
	if n := a.count("SELECT count(*) FROM events WHERE type = 'report.ready'"); n != 2 {
		t.Errorf("%d reports", n)
	}
	if s = a.reportSchedule(s.ID); !s.LastAt.Equal(time.Date(2026, 8, 1, 7, 0, 0, 0, time.UTC)) ||
		!s.SkippedAt.Equal(time.Date(2026, 7, 1, 7, 0, 0, 0, time.UTC)) || !s.NextAt.Equal(time.Date(2026, 9, 1, 7, 0, 0, 0, time.UTC)) {
		t.Errorf("the schedule is %+v", s)
	}
}

// TestReportScheduleWithoutItsChannels moves on when a channel is gone or disabled: the event is in the stream.
func TestReportScheduleWithoutItsChannels(t *testing.T) {
	t.Parallel()
	a := newAlerts(t, vigil.NotifyBoth, vigil.ChannelWebhook, vigil.ChannelChat)
	s := reportsOf(a, overview.ReportRecurrence{Every: overview.Weekly, Day: 1, Hour: 0, Timezone: "UTC"})
	_, err := a.store.UpdateChannel(t.Context(), a.org.ID, a.channels[vigil.ChannelWebhook].ID, func(c *vigil.Channel) error {
		c.Enabled = false
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	a.clock.Set(*s.NextAt)
	if err := a.store.RunReportSchedule(t.Context(), a.org.ID, s.ID, ""); err != nil {
		t.Fatal(err)
	}
	if n := a.count("SELECT count(*) FROM deliveries WHERE event_type = 'report.ready'"); n != 1 {
		t.Errorf("%d deliveries", n)
	}
}

func TestReportsAreAboutTheTimeBefore(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		every          overview.Every
		at, from, upTo string
	}{
		{overview.Weekly, "2026-11-02T08:00:00Z", "2026-10-25T23:00:00Z", "2026-11-01T23:00:00Z"},
		{overview.Weekly, "2026-10-25T22:30:00Z", "2026-10-11T22:00:00Z", "2026-10-18T22:00:00Z"}, // Sunday in Berlin
		{overview.Weekly, "2026-10-25T23:30:00Z", "2026-10-18T22:00:00Z", "2026-10-25T23:00:00Z"}, // Monday, after 25 hours of Sunday
		{overview.Monthly, "2027-01-01T08:00:00Z", "2026-11-30T23:00:00Z", "2026-12-31T23:00:00Z"},
		{overview.Quarterly, "2026-04-01T07:00:00Z", "2025-12-31T23:00:00Z", "2026-03-31T22:00:00Z"},
		{overview.Quarterly, "2026-02-10T07:00:00Z", "2025-09-30T22:00:00Z", "2025-12-31T23:00:00Z"},
	} {
		at, err := time.Parse(time.RFC3339, tt.at)
		if err != nil {
			t.Fatal(err)
		}
		r := overview.ReportRecurrence{Every: tt.every, Day: 1, Timezone: "Europe/Berlin"}
		span := r.Span(at)
		if from, to := span.From.UTC().Format(time.RFC3339), span.To.UTC().Format(time.RFC3339); from != tt.from || to != tt.upTo {
			t.Errorf("%s at %s: from %s to %s", tt.every, tt.at, from, to)
		}
	}
}
