// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil/client"
)

const (
	// breakAfter is how long the shop stays healthy, and repairAfter how long it stays broken
	// when the message was delivered: long enough to see it on the dashboard.
	breakAfter  = 4 * time.Second
	repairAfter = 5 * time.Second
	// lateAfter is by how much a step may take longer than expected before it is reported.
	lateAfter = 15 * time.Second
)

// expected is how long a phase takes on an idle machine.
func (d *Demo) expected(p phase) time.Duration {
	switch p {
	case phaseStarting:
		return d.interval + time.Second
	case phaseHealthy:
		return breakAfter
	case phaseBroken:
		return failuresInARow*d.interval + time.Second + 5*time.Second // and the wait before the second attempt
	case phaseDelivered:
		return repairAfter
	case phaseRepaired:
		return d.interval + time.Second
	case phaseDone:
	}
	return 0
}

// checkLate reports the present phase once when it takes too long.
func (d *Demo) checkLate() {
	now := d.state.get().Story
	if d.late || now.Phase == phaseDone || now.Manual && now.Phase != phaseRepaired || !d.now().After(d.due) {
		return
	}
	d.late = true
	what := ""
	switch now.Phase {
	case phaseStarting:
		what = "not every region has found the shop healthy yet"
	case phaseBroken:
		what = "the shop is broken, and no incident is open yet"
		if now.Incident != uuid.Nil {
			what = "the message about the incident is not delivered yet"
		}
	case phaseRepaired:
		what = "the shop is repaired, and the incident is not resolved yet"
		if now.Resolved {
			what = "the message about the recovery is not delivered yet"
		}
	case phaseHealthy, phaseDelivered, phaseDone:
		what = "the platform does not answer"
	}
	d.emit(Event{Kind: KindLate, Text: fmt.Sprintf(
		"%s, which is more than %d s late; `vigil doctor` shows what is missing", what, int(lateAfter/time.Second))})
}

// step looks at the platform and begins the next phase when its time has come.
func (d *Demo) step(ctx context.Context) error {
	if err := d.showAttempts(ctx); err != nil {
		return err
	}
	defer d.checkLate()
	now := d.state.get()
	age := d.now().Sub(now.Story.Since)
	switch now.Story.Phase {
	case phaseStarting:
		return d.awaitHealthy(ctx)
	case phaseHealthy:
		if age >= breakAfter {
			return d.breakShop(false)
		}
	case phaseBroken:
		if now.Story.Incident != uuid.Nil {
			return d.awaitDelivery(ctx, "incident.triggered", phaseDelivered)
		}
	case phaseDelivered:
		if age >= repairAfter && !now.Story.Manual {
			return d.repairShop()
		}
	case phaseRepaired:
		if now.Story.Resolved {
			return d.finish(ctx)
		}
	case phaseDone:
	}
	return nil
}

// awaitHealthy ends the start when every region has a result since this start, and the last
// one of each is a success.
func (d *Demo) awaitHealthy(ctx context.Context) error {
	loops, err := read[[]client.Loop](d.api.ListCheckRegions(ctx, d.checkID, nil))
	if err != nil {
		return err
	}
	healthy, link := 0, ""
	for _, loop := range loops {
		if loop.HealthStatus == "healthy" && loop.LastSlot != nil && !loop.LastSlot.Before(d.began.Add(-d.interval)) {
			healthy++
		}
		if loop.RunUrl != nil && link == "" {
			link = *loop.RunUrl
		}
	}
	if healthy < len(d.regions) {
		return nil
	}
	results, err := read[[]client.Result](d.api.ListResults(ctx, d.checkID, &client.ListResultsParams{Limit: new(int64(1))}))
	if err != nil || len(results) == 0 {
		return err
	}
	d.loopURL = link
	d.emit(Event{
		Kind: KindHealthy, CheckID: &d.checkID, URL: link,
		Text: fmt.Sprintf("%s, %d of %d regions, %d ms", shopName, healthy, len(d.regions), max(1, results[0].ResponseTimeMs)),
	})
	return d.enter(phaseHealthy, nil)
}

// breakShop lets the shop answer 503, and the receiver refuse the next message.
func (d *Demo) breakShop(manual bool) error {
	err := d.enter(phaseBroken, func(s *state) {
		s.Broken, s.Refuse = true, 1
		s.Story = story{Began: d.now().UTC(), Manual: manual}
	})
	if err == nil {
		d.emit(Event{Kind: KindBroken, CheckID: &d.checkID, URL: d.loopURL, Text: "the shop breaks: it answers 503 from now on"})
	}
	return err
}

// repairShop lets the shop answer 200 again. Without an incident nothing has to resolve.
func (d *Demo) repairShop() error {
	next := phaseRepaired
	if d.state.get().Story.Incident == uuid.Nil {
		next = phaseDone
	}
	err := d.enter(next, func(s *state) { s.Broken = false })
	if err == nil {
		d.emit(Event{Kind: KindRepaired, CheckID: &d.checkID, URL: d.loopURL, Text: "the shop is repaired"})
	}
	return err
}

func (d *Demo) breakByHand(context.Context) error {
	if d.state.get().Broken {
		return nil
	}
	return d.breakShop(true)
}

func (d *Demo) repairByHand(context.Context) error {
	if !d.state.get().Broken {
		return nil
	}
	return d.repairShop()
}

func (d *Demo) remove(context.Context) error {
	d.state.remove()
	d.emit(Event{Kind: KindRemoved, Text: "the demo was removed; Vigil goes on without it"})
	return errRemoved
}

// alerted shows an event of the stream, if it is one of the shop's check.
func (d *Demo) alerted(ctx context.Context, got alert) error {
	kind := KindIncident
	switch {
	case got.kind == "incident.resolved":
		kind = KindResolved
	case got.kind != "incident.triggered":
		return d.state.change(func(s *state) { s.Position = got.position })
	}
	if got.check != d.checkID {
		return d.state.change(func(s *state) { s.Position = got.position })
	}
	shown := Event{Kind: kind, CheckID: &d.checkID, IncidentID: &got.incident, Text: got.title}
	incident, err := read[client.Incident](d.api.GetIncident(ctx, got.incident))
	if err == nil {
		if incident.RunUrl != nil {
			shown.URL = *incident.RunUrl
		}
		shown.Text = d.describeIncident(&incident, kind)
	}
	err = d.state.change(func(s *state) {
		s.Position = got.position
		switch {
		case kind == KindResolved:
			s.Story.Resolved = s.Story.Resolved || s.Story.Incident == got.incident
		case s.Story.Phase == phaseDone: // it opened after the shop was repaired by hand
			s.Story = story{Phase: phaseRepaired, Since: d.now().UTC(), Began: got.at, Incident: got.incident, Incidents: 1}
		default:
			s.Story.Incidents++
			if s.Story.Incident == uuid.Nil {
				s.Story.Incident = got.incident
			}
		}
	})
	if err != nil {
		return err
	}
	d.emit(shown)
	if kind == KindIncident {
		d.due = d.now().Add(lateAfter + d.expected(phaseBroken))
	}
	return nil
}

// describeIncident says what an incident is about, or how long it lasted.
func (d *Demo) describeIncident(incident *client.Incident, kind Kind) string {
	if kind == KindResolved && incident.ResolvedAt != nil {
		return fmt.Sprintf("after %s", incident.ResolvedAt.Sub(incident.StartedAt).Round(time.Second))
	}
	return fmt.Sprintf("%s: %d failures in a row in %d of %d regions",
		incident.Title, incident.Trigger.FailureCount, len(incident.Regions), len(d.regions))
}

// awaitDelivery enters a phase once the message of a type is delivered, or was given up, and
// its attempts are shown.
func (d *Demo) awaitDelivery(ctx context.Context, kind string, next phase) error {
	now := d.state.get().Story
	deliveries, err := d.deliveriesOf(ctx, now.Incident)
	if err != nil {
		return err
	}
	for i := range deliveries {
		one := &deliveries[i]
		if string(one.EventType) == kind && one.FinishedAt != nil && now.Shown[one.Id] >= one.Attempts {
			return d.enter(next, nil)
		}
	}
	return nil
}

// finish ends the story once the message about the recovery is delivered.
func (d *Demo) finish(ctx context.Context) error {
	now := d.state.get().Story
	deliveries, err := d.deliveriesOf(ctx, now.Incident)
	if err != nil {
		return err
	}
	attempts, delivered, recovered := 0, 0, false
	for i := range deliveries {
		one := &deliveries[i]
		if one.FinishedAt == nil || now.Shown[one.Id] < one.Attempts {
			return nil
		}
		attempts += int(one.Attempts)
		recovered = recovered || one.EventType == "incident.resolved"
		if one.Status == "delivered" {
			delivered++
		}
	}
	if !recovered {
		return nil
	}
	lost := "none lost"
	if delivered < len(deliveries) {
		lost = fmt.Sprintf("%s of them delivered", count(delivered, "message"))
	}
	text := fmt.Sprintf("%s, %s, %s, %s",
		count(now.Incidents, "incident"), count(len(deliveries), "message"), count(attempts, "attempt"), lost)
	messages := len(deliveries)
	if err := d.enter(phaseDone, nil); err != nil {
		return err
	}
	d.emit(Event{
		Kind: KindDone, Text: text, CheckID: &d.checkID, IncidentID: &now.Incident, Incidents: &now.Incidents,
		Deliveries: &messages, Attempts: &attempts,
	})
	return nil
}
