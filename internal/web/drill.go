// SPDX-License-Identifier: Apache-2.0

package web

import (
	"fmt"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil/client"
)

// drillBody is what the page of a drill shows.
type drillBody struct {
	ID, Title string
	Badge     badge
	Running   bool
	Verdict   drillVerdictNote
	Failures  []drillFailureLine
	Steps     []drillStep // of one that runs
	Hops      []drillHopLine
	Zone      string // of the times of the hops
	Channels  []drillChannelLine
	Facts     []fact
	Signed    *drillSigned // nil while it runs
}

// drillVerdictNote is the first thing that the page says.
type drillVerdictNote struct {
	State, Tint string // of the mark and of the banner
	Word, Text  string
}

// drillFailureLine is something that is wrong with a drill.
type drillFailureLine struct {
	Hop, Where, Href string
	Reason           string
}

// drillStep is a step of a drill that runs.
type drillStep struct {
	Mark mark
	Text string
	Now  bool
}

// drillChannelLine is a channel of a drill, with what reached it.
type drillChannelLine struct {
	Name, Href, Type string
	Notes            []string // by what subscriptions, in whose place
	Opening, End     drillMessageLine
}

// drillMessageLine is what became of a message.
type drillMessageLine struct {
	Mark  mark
	Text  string
	Code  string
	At    stamp
	Error string
}

func (s *Server) drillRoutes(on *routes) {
	on.page("GET /app/drills/{id}", s.drillPage)
	on.page("POST /app/drills/{id}/cancel", s.cancelDrill)
	on.page("GET /app/drills/{id}/receipt.json", s.drillReceiptJSON)
	on.page("GET /app/drills/{id}/receipt.jws", s.drillReceiptJWS)
}

func (s *Server) drillPage(r *request) error {
	p, err := s.readDrillPage(r)
	if err != nil {
		return err
	}
	return r.render(http.StatusOK, "drill", p)
}

func readDrill(r *request) (*client.GetDrillResponse, error) {
	id, err := r.pathID("id")
	if err != nil {
		return nil, err
	}
	return r.api.GetDrillWithResponse(r.Context(), id)
}

// readDrillPage reads the drill in the path. A page of one that has ended never changes.
func (s *Server) readDrillPage(r *request) (page, error) {
	found, err := readDrill(r)
	if err != nil {
		return page{}, err
	}
	d := &found.JSON200.Data
	state := drillMark(verdictOf(d))
	body := &drillBody{
		ID: d.Id.String(), Title: drillTitle(d), Badge: badge{State: state.State, Text: state.Word}, Running: d.Receipt == nil,
		Verdict: drillNote(d), Facts: drillFacts(r, d),
	}
	p := page{Title: "Drill of " + body.Title, Nav: navDrills, Body: body}
	if len(d.Channels) == 0 {
		p.Title = body.Title
	}
	if body.Running {
		p.Live = "page=" + liveDrill
		body.Steps = drillSteps(d)
		for k := range d.Channels {
			c := &d.Channels[k]
			body.Channels = append(body.Channels, drillChannelLine{
				Name: c.Name, Href: "/app/channels/" + c.Id.String(), Type: string(c.Type), Notes: subscriptionNotes(c.Subscriptions),
			})
		}
		return p, nil
	}
	body.Hops, body.Zone = drillHops(r, d.Receipt), r.prefs.Zone.String()
	body.Failures = drillFailureLines(r, d.Receipt)
	body.Channels = drillChannelLines(r, d.Receipt)
	body.Signed = r.drillSigned(d)
	return p, nil
}

// drillNote says in words how a drill ended, or where it stands.
func drillNote(d *client.Drill) drillVerdictNote {
	within := spanExact(secondsOf(d.ExpectWithinSeconds))
	switch verdictOf(d) {
	case "passed":
		return drillVerdictNote{
			State: "done", Tint: "up", Word: "Passed",
			Text: fmt.Sprintf("Both messages reached %s, each within %s.", everyChannel(len(d.Receipt.Channels)), within),
		}
	case "failed":
		return drillVerdictNote{State: "failed", Tint: "down", Word: "Failed", Text: "Alerts may not arrive."}
	case "canceled":
		return drillVerdictNote{State: "paused", Word: "Canceled", Text: "It was ended before its time, so it shows nothing about your alerts."}
	}
	return drillVerdictNote{
		State: "unknown",
		Word:  "Running",
		Text:  fmt.Sprintf("Each of the two messages has %s to reach %s.", within, everyChannel(len(d.Channels))),
	}
}

func everyChannel(n int) string {
	switch n {
	case 1:
		return "the channel"
	case 2:
		return "both channels"
	}
	return fmt.Sprintf("all %d channels", n)
}

// drillSteps are the steps of a drill that runs, and which of them it is at.
func drillSteps(d *client.Drill) []drillStep {
	steps := []drillStep{
		{Text: "The drill is stored"},
		{Text: "Its check fails, and the channels are notified of the opening"},
		{Text: "Its check is healthy again, and the channels are notified of the end"},
		{Text: "The receipt is made and signed"},
	}
	at := map[client.DrillState]int{client.DrillStateAsked: 0, client.DrillStateFailing: 1, client.DrillStateRecovering: 2}[d.State]
	for i := range steps {
		switch {
		case i < at:
			steps[i].Mark = newMark("done", "Done")
		case i == at:
			steps[i].Mark, steps[i].Now = newMark("unknown", "Now"), true
		default:
			steps[i].Mark = newMark("missed", "Later")
		}
	}
	return steps
}

func drillFacts(r *request, d *client.Drill) []fact {
	asked := r.date(d.AskedAt)
	facts := []fact{{Name: "Asked", Time: &asked}}
	if d.RequestedBy != nil {
		facts = append(facts, fact{Name: "Asked by", Value: *d.RequestedBy})
	}
	if d.ClosedAt != nil {
		ended := r.date(*d.ClosedAt)
		facts = append(facts, fact{Name: "Ended", Time: &ended}, fact{Name: "Took", Value: distance(d.ClosedAt.Sub(d.AskedAt))})
	}
	facts = append(facts,
		fact{Name: "Regions", Value: r.cityList(d.Regions)},
		fact{Name: "Severity", Value: capital(string(d.Severity))},
		fact{Name: "Expected", Value: "within " + spanExact(secondsOf(d.ExpectWithinSeconds)) + " each"},
	)
	if receipt := d.Receipt; receipt != nil {
		facts = append(facts,
			fact{Name: "Organization", Value: receipt.OrganizationName},
			fact{Name: "Version", Value: receipt.Version},
		)
	}
	return append(facts, fact{Name: "Drill", Value: d.Id.String(), Mono: true})
}

// drillFailureLines say where each failure is.
func drillFailureLines(r *request, receipt *client.DrillReceipt) []drillFailureLine {
	var lines []drillFailureLine
	for k := range receipt.Failures {
		f := &receipt.Failures[k]
		line := drillFailureLine{Hop: string(f.Hop), Reason: f.Reason}
		if f.Region != nil {
			line.Where = r.city(*f.Region)
		}
		if f.ChannelId != nil {
			line.Where, line.Href = drilledName(receipt, *f.ChannelId), "/app/channels/"+f.ChannelId.String()
		}
		lines = append(lines, line)
	}
	return lines
}

// drilledName is the name of a channel of the receipt.
func drilledName(receipt *client.DrillReceipt, id uuid.UUID) string {
	for k := range receipt.Channels {
		if receipt.Channels[k].Id == id {
			return receipt.Channels[k].Name
		}
	}
	return short(id.String())
}

func drillChannelLines(r *request, receipt *client.DrillReceipt) []drillChannelLine {
	var lines []drillChannelLine
	for k := range receipt.Channels {
		c := &receipt.Channels[k]
		line := drillChannelLine{
			Name: c.Name, Href: "/app/channels/" + c.Id.String(), Type: string(c.Type), Notes: subscriptionNotes(c.Subscriptions),
			Opening: drillMessageOf(r, c.Opening), End: drillMessageOf(r, c.Recovery),
		}
		if c.FallbackForChannelId != nil {
			line.Notes = append(line.Notes, "in the place of "+drilledName(receipt, *c.FallbackForChannelId))
		}
		lines = append(lines, line)
	}
	return lines
}

func subscriptionNotes(list *[]client.DrillSubscription) []string {
	if list == nil || len(*list) == 0 {
		return nil
	}
	names := make([]string, len(*list))
	for k := range *list {
		names[k] = (*list)[k].Name
	}
	return []string{"by " + listed(names)}
}

// drillMessageOf says what became of a message; nil: none was made.
func drillMessageOf(r *request, m *client.DrillMessage) drillMessageLine {
	if m == nil {
		return drillMessageLine{Mark: newMark("missed", ""), Text: "no message was made"}
	}
	line := drillMessageLine{Mark: newMark("failed", ""), Text: "not delivered, " + counted(m.Attempts, "attempt")}
	switch {
	case m.DeliveredAt != nil:
		line.Mark, line.At = newMark("done", ""), r.exact(*m.DeliveredAt)
		if line.Text = "delivered"; m.Attempts > 1 {
			line.Text = "delivered at attempt " + number(m.Attempts)
		}
	case m.Status == client.DrillMessageStatusSuperseded:
		line.Mark, line.Text = newMark("paused", ""), "superseded, not sent any more"
	case m.Attempts == 0:
		line.Text = "not attempted"
	}
	if m.StatusCode != nil {
		line.Code = fmt.Sprint(*m.StatusCode)
	}
	if m.Error != nil {
		line.Error = *m.Error
	}
	return line
}

// exact shows the time of a day with milliseconds.
func (r *request) exact(t time.Time) stamp {
	local := t.In(r.prefs.Zone)
	return stamp{
		ISO: t.UTC().Format(time.RFC3339Nano), Text: local.Format("15:04:05.000"), Full: local.Format("2 Jan 2006, 15:04:05.000 MST"),
	}
}

func (s *Server) cancelDrill(r *request) error {
	id, err := r.pathID("id")
	if err != nil {
		return err
	}
	path := "/app/drills/" + id.String()
	if _, err := r.api.CancelDrillWithResponse(r.Context(), id); err != nil {
		if f := newForm(r); f.refused(err) {
			r.flash(flash{Mark: "down", Text: f.text()})
			return r.redirect(path)
		}
		return err
	}
	r.flash(flash{Mark: "done", Text: "The drill ends now: those that were notified of the opening are notified of the end"})
	return r.redirect(path)
}

// lastDrill is the last drill of a channel or of a schedule that has ended.
type lastDrill struct {
	Mark mark
	Href string
	At   stamp
}

func (r *request) lastDrill(last *client.LastDrill) *lastDrill {
	if last == nil {
		return nil
	}
	return &lastDrill{Mark: drillMark(string(last.Verdict)), Href: "/app/drills/" + last.Id.String(), At: r.date(last.At)}
}
