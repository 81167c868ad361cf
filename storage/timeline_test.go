// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/listing"
)

func TestTimeline(t *testing.T) {
	t.Parallel()
	a := newAlerts(t, vigil.NotifyBoth, vigil.ChannelWebhook)
	vote := a.fails(newark)
	a.clock.Set(a.slot.Add(time.Second))
	id := a.open(vote).Incident.ID
	a.clock.Set(a.slot.Add(2 * time.Second))
	a.deliver(id, vigil.ChannelWebhook)
	a.slot = a.slot.Add(10 * time.Second)
	a.vote(vigil.Vote{Region: newark, Revision: 2, Slot: a.slot})
	a.clock.Set(a.slot.Add(time.Second))
	a.resolve(id, vigil.ResolvedAutomatically)
	moments, total, err := a.store.Timeline(t.Context(), a.org.ID, id, listing.Page{Limit: 100})
	if err != nil || total != 5 {
		t.Fatal(total, err)
	}
	var kinds []vigil.TimelineKind
	for _, m := range moments {
		kinds = append(kinds, m.Kind)
	}
	want := []vigil.TimelineKind{vigil.TimelineEdge, vigil.TimelineState, vigil.TimelineAttempt, vigil.TimelineEdge, vigil.TimelineState}
	if !slices.Equal(kinds, want) || moments[2].Attempt.Number != 1 || moments[3].Region != newark {
		t.Errorf("timeline %v, want %v", kinds, want)
	}
	if _, _, err := a.store.Timeline(t.Context(), uuid.New(), id, listing.Page{Limit: 1}); vigil.ErrorCode(err) != vigil.CodeNotFound {
		t.Errorf("another organization got %v", err)
	}
}

func TestTimelineInPages(t *testing.T) {
	t.Parallel()
	a := newAlerts(t, vigil.NotifyBoth, vigil.ChannelWebhook, vigil.ChannelChat)
	a.clock.Set(a.slot.Add(10 * time.Second)) // the incident, both attempts and two edges have one instant
	vote := a.fails(newark)
	id := a.open(vote).Incident.ID
	a.deliver(id, vigil.ChannelWebhook)
	a.deliver(id, vigil.ChannelChat)
	a.vote(vigil.Vote{Region: frankfurt, Revision: 2, Slot: a.slot, Failures: 1, Firing: []uuid.UUID{a.rule.ID}})
	for range 20 {
		a.slot = a.slot.Add(10 * time.Second)
		a.vote(vigil.Vote{Region: newark, Revision: 2, Slot: a.slot, Failures: 2, Firing: []uuid.UUID{a.rule.ID}})
	}
	whole, total, err := a.store.Timeline(t.Context(), a.org.ID, id, listing.Page{Limit: 1000})
	if err != nil || total != 25 || len(whole) != total {
		t.Fatalf("%d of %d entries, %v", len(whole), total, err)
	}
	kinds := []vigil.TimelineKind{whole[0].Kind, whole[1].Kind, whole[2].Kind, whole[3].Kind, whole[4].Kind}
	equal(t, kinds, []vigil.TimelineKind{
		vigil.TimelineAttempt, vigil.TimelineAttempt, vigil.TimelineEdge, vigil.TimelineEdge, vigil.TimelineState,
	})
	var paged []vigil.TimelineEntry
	for offset := 0; offset < 28; offset += 3 {
		page, n, err := a.store.Timeline(t.Context(), a.org.ID, id, listing.Page{Limit: 3, Offset: offset})
		if err != nil || n != total || len(page) > 3 {
			t.Fatalf("%d of %d entries, %v", len(page), n, err)
		}
		paged = append(paged, page...)
	}
	equal(t, paged, whole)
}

// TestTimelineHasTheVotesThatStoodAlready opens an incident on the second region's vote:
// the first one's, which is older than the result that fired the rule, is a part of it.
func TestTimelineHasTheVotesThatStoodAlready(t *testing.T) {
	t.Parallel()
	a := newAlerts(t, vigil.NotifyBoth, vigil.ChannelWebhook)
	base := a.slot
	edge := func(region string, before time.Duration, firing string) {
		t.Helper()
		_, err := a.store.DB().
			NewRaw("INSERT INTO region_edges (check_id, slot, region, revision, failures, firing) VALUES (?, ?, ?, 1, 2, ?::uuid[])",
				a.check.ID, base.Add(-before), region, firing).
			Exec(t.Context())
		if err != nil {
			t.Fatal(err)
		}
	}
	edge(frankfurt, 3*time.Minute, "{"+a.rule.ID.String()+"}")
	edge("ap-southeast-sin", 2*time.Minute, "{"+a.rule.ID.String()+"}")
	edge("ap-southeast-sin", time.Minute, "{}") // quiet again before it opened
	id := a.open(a.fails(newark)).Incident.ID
	entries, total, err := a.store.Timeline(t.Context(), a.org.ID, id, listing.Page{Limit: 100})
	if err != nil || total != len(entries) || total == 0 {
		t.Fatalf("%d of %d entries, %v", len(entries), total, err)
	}
	if first := entries[0]; first.Region != frankfurt || !first.Time.Equal(base.Add(-3*time.Minute)) {
		t.Errorf("it begins with %+v", first)
	}
	for _, entry := range entries {
		if entry.Region == "ap-southeast-sin" {
			t.Errorf("a vote that did not stand: %+v", entry)
		}
	}
}
