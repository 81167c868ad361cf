// SPDX-License-Identifier: Apache-2.0

package web

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/vigil-monitor/vigil/client"
)

// drillForm is the part that the forms of a drill and of a schedule have in common.
type drillForm struct {
	*form

	Of       []drillSubject
	Regions  []option
	ReadOnly bool
	chosen   []string // regions before the form was posted
	subject  string   // which of Of is chosen
}

// drillSubject is one of what a drill can be about, of which one is chosen.
type drillSubject struct {
	Member, Label, Legend string
	None                  string // what is said where there is nothing to choose
	Chosen                bool
	Field                 *field
	Options               []drillOption
}

// drillAsked is what a form begins with.
type drillAsked struct {
	subject  string
	ids      []string
	regions  []string
	severity string
	within   int64
	pager    bool
}

// newDrillAsked is what a new drill begins with.
func newDrillAsked() drillAsked {
	return drillAsked{subject: drillOfChannels, severity: "info", within: 120}
}

// newDrillForm declares the fields that a drill and a schedule have in common.
func newDrillForm(r *request, begin *drillAsked, offers drillOffers) (*drillForm, error) {
	f := &drillForm{form: newForm(r), chosen: begin.regions, subject: begin.subject, ReadOnly: r.readOnly()}
	ids := map[string][]string{begin.subject: begin.ids}
	if f.values != nil {
		f.subject = f.get("of")
		for _, member := range []string{drillOfChannels, drillOfRules, drillOfSubscriptions} {
			ids[member] = f.values[member]
		}
	}
	f.Of = []drillSubject{
		{Member: drillOfChannels, Label: "Channels", Legend: "Which channels", None: "There is no channel yet."},
		{Member: drillOfRules, Label: "Alert rules", Legend: "Which alert rules", None: "There is no alert rule yet."},
		{Member: drillOfSubscriptions, Label: "Subscriptions", Legend: "Which subscriptions", None: "There is no subscription yet."},
	}
	if f.subject != drillOfRules && f.subject != drillOfSubscriptions {
		f.subject = drillOfChannels
	}
	for i := range f.Of {
		one := &f.Of[i]
		one.Chosen, one.Options = one.Member == f.subject, offers.chosen(one.Member, ids[one.Member])
		one.Field = f.add(field{Name: one.Member, Label: one.Legend})
	}
	f.add(field{
		Name: "confirm_pager", Label: "Page people", Type: "checkbox", Checked: begin.pager,
		Help: "What is chosen leads to a pager, which wakes people.",
	})
	f.add(field{Name: "severity", Label: "Severity", Type: "select", Value: begin.severity, Options: []option{
		{Value: "info", Text: "info"}, {Value: "warning", Text: "warning"}, {Value: "critical", Text: "critical"},
	}})
	f.add(field{
		Name: "expect_within_seconds", Label: "Expected within, seconds", Type: "number", Min: "10", Max: "600", Mode: "numeric",
		Value: strconv.FormatInt(begin.within, 10), Required: true,
		Help: "How long the way to every channel may take, of the opening and of its end each.",
	})
	f.add(field{Name: "regions", Label: "Regions"})
	return f, f.offerRegions(r)
}

// offerRegions lists the regions, those that are chosen first.
func (f *drillForm) offerRegions(r *request) error {
	known, err := r.s.regions.all(r.Context(), r.api)
	if err != nil {
		return err
	}
	chosen := make(map[string]bool)
	for _, key := range f.regionsNow() {
		chosen[key] = true
	}
	var others []option
	for _, region := range inOrder(known) {
		one := option{Value: region.Key, Text: region.City, Chosen: chosen[region.Key]}
		if note := noteOf(region, ""); note != "" {
			one.Text += " (" + note + ")"
		}
		if one.Chosen {
			f.Regions = append(f.Regions, one)
		} else {
			others = append(others, one)
		}
	}
	f.Regions = append(f.Regions, others...)
	return nil
}

// regionsNow are the chosen regions.
func (f *drillForm) regionsNow() []string {
	if f.values != nil {
		return f.values["regions"]
	}
	return f.chosen
}

// regionIDs are the regions as the API takes them: none leaves them to the default, unless some were
// chosen before, which the API does not forget.
func (f *drillForm) regionIDs() *[]string {
	now := append([]string{}, f.regionsNow()...)
	if len(now) == 0 && len(f.chosen) == 0 {
		return nil
	}
	return &now
}

// ids are what was chosen of a subject; nil for one that the drill is not about.
func (f *drillForm) ids(subject string) *[]string {
	if f.subject != subject {
		return nil
	}
	return of(append([]string{}, f.values[subject]...))
}

// seconds is the time that was typed. What is no number is -1, and the API says what is possible.
func (f *drillForm) seconds() *int64 { return of(f.number("expect_within_seconds")) }

func (f *form) number(name string) int64 {
	n, err := strconv.ParseInt(strings.TrimSpace(f.get(name)), 10, 64)
	if err != nil {
		return -1
	}
	return n
}

// turnedDown reports whether err is something that the user can change, and names what it is about
// as the form does: the API counts what was chosen.
func (f *drillForm) turnedDown(err error) bool {
	if !f.refused(err) {
		return false
	}
	for _, subject := range f.Of {
		for i, id := range f.values[subject.Member] {
			counted, name := fmt.Sprintf("%s[%d]: ", subject.Member, i), ""
			for _, one := range subject.Options {
				if one.Value == id {
					name = one.Text + " "
				}
			}
			if rest, ok := strings.CutPrefix(subject.Field.Error, counted); ok && name != "" {
				subject.Field.Error = name + rest
			}
		}
	}
	return true
}

// drillFormBody is what the page shows that runs a drill.
type drillFormBody struct{ Form *drillForm }

func (s *Server) drillFormRoutes(on *routes) {
	on.page("GET /app/drills/new", s.newDrill)
	on.page("POST /app/drills", s.runDrill)
}

// drillFormOf is the form of a drill, with the channel in the address chosen.
func drillFormOf(r *request) (*drillForm, error) {
	offers, err := r.readDrillOffers()
	if err != nil {
		return nil, err
	}
	begin := newDrillAsked()
	if channel := r.idParameter("channel_id"); channel != nil {
		begin.ids = []string{channel.String()}
	}
	f, err := newDrillForm(r, &begin, offers)
	if err != nil {
		return nil, err
	}
	f.Heading = "No drill has begun."
	return f, nil
}

func (s *Server) newDrill(r *request) error {
	f, err := drillFormOf(r)
	if err != nil {
		return err
	}
	return renderDrillForm(r, f)
}

func renderDrillForm(r *request, f *drillForm) error {
	return r.render(f.Status, "drill_new", page{Title: "Run a drill", Nav: navDrills, Body: &drillFormBody{Form: f}})
}

// runDrill begins a drill and shows it.
func (s *Server) runDrill(r *request) error {
	f, err := drillFormOf(r)
	if err != nil {
		return err
	}
	made, err := r.api.CreateDrillWithResponse(r.Context(), nil, client.DrillRequest{
		ChannelIds: f.ids(drillOfChannels), RuleIds: f.ids(drillOfRules), SubscriptionIds: f.ids(drillOfSubscriptions),
		Regions: f.regionIDs(), Severity: of(client.DrillRequestSeverity(f.get("severity"))), ExpectWithinSeconds: f.seconds(),
		ConfirmPager: of(f.values.Has("confirm_pager")),
	})
	if err != nil {
		if f.turnedDown(err) {
			return renderDrillForm(r, f)
		}
		return err
	}
	return r.redirect("/app/drills/" + made.JSON202.Data.Id.String())
}
