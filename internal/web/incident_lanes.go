// SPDX-License-Identifier: Apache-2.0

package web

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/vigil-monitor/vigil/client"
	"github.com/vigil-monitor/vigil/internal/timing"
)

// lanes is the drawing of an incident: time to the right; a lane for each region, for the
// incident, and for each channel. Its list says the same in words. Positions are percents
// of the width, so that the drawing fits any window and its texts keep their size.
type lanes struct {
	Rows   []lane
	Ticks  []tick
	Height int // of the drawing, in pixels
	Axis   int // where the lanes begin
	Label  string
	Legend []string // the kinds of drawing that occur
}

// lane is one row.
type lane struct {
	Name   string
	Strong bool
	Y      int  // of its middle
	Base   bool // a line over the whole width: the region has results
	Bars   []laneBar
	Waits  []laneBar
	Points []lanePoint
	After  *laneText
}

type laneBar struct {
	Kind     string // few, votes, triggered, acknowledged, wait
	From, To string
	Width    string
	Text     string
}

type lanePoint struct {
	Failed bool
	At     string
}

type laneText struct{ At, Text string }

type tick struct{ At, Text string }

// Sizes of the lanes, in pixels.
const (
	laneStep   = 24
	laneGap    = 7  // before and after the lane of the incident
	laneTop    = 28 // of the times
	laneChars  = 12 // percents that a text in a bar needs
	mostLanes  = 12 // of regions, and of channels
	mostTicks  = 8
	laneMargin = 0.035
)

// laneScale maps times to percents of the width.
type laneScale struct{ from, to time.Time }

func (s laneScale) share(t time.Time) float64 {
	share := float64(t.Sub(s.from)) / float64(s.to.Sub(s.from)) * 100
	return min(max(share, 0), 100)
}

func (s laneScale) at(t time.Time) string {
	return strconv.FormatFloat(s.share(t), 'f', 2, 64) + "%"
}

func (s laneScale) bar(kind, text string, from, to time.Time) laneBar {
	width := s.share(to) - s.share(from)
	if width < laneChars {
		text = ""
	}
	return laneBar{Kind: kind, From: s.at(from), To: s.at(to), Width: strconv.FormatFloat(max(width, 0.4), 'f', 2, 64) + "%", Text: text}
}

// newLanes draws the incident from what its timeline says.
func newLanes(r *request, s *story, timeline []client.TimelineEntry, failures map[string]time.Time) *lanes {
	scale := scaleOf(r, s.incident, timeline, failures)
	l := &lanes{Axis: laneTop, Label: "Lanes of the incident; the timeline below has the same in words"}
	y := laneTop + laneStep/2
	row := func(add lane) {
		add.Y = y
		l.Rows = append(l.Rows, add)
		y += laneStep
	}
	for _, region := range regionLanes(s, timeline) {
		row(regionLane(r, s, region, timeline, failures, scale))
	}
	y += laneGap
	row(incidentLane(r, s.incident, scale))
	y += laneGap
	for _, channel := range channelLanes(timeline, scale, r.now) {
		row(channel)
	}
	l.Height = y
	l.Ticks = ticks(r, scale)
	for _, kind := range []string{"few", "votes", "failed", "delivered"} {
		if slices.ContainsFunc(l.Rows, func(row lane) bool { return row.has(kind) }) {
			l.Legend = append(l.Legend, kind)
		}
	}
	return l
}

func (l *lane) has(kind string) bool {
	switch kind {
	case "failed":
		return slices.ContainsFunc(l.Points, func(p lanePoint) bool { return p.Failed })
	case "delivered":
		return slices.ContainsFunc(l.Points, func(p lanePoint) bool { return !p.Failed })
	}
	return slices.ContainsFunc(l.Bars, func(b laneBar) bool { return b.Kind == kind })
}

// scaleOf covers everything that is drawn, with a margin.
func scaleOf(r *request, i *client.Incident, timeline []client.TimelineEntry, failures map[string]time.Time) laneScale {
	from, to := i.StartedAt, r.now
	if i.ResolvedAt != nil {
		to = *i.ResolvedAt
	}
	for _, at := range failures {
		from = timing.Earlier(from, at)
	}
	for k := range timeline {
		from = timing.Earlier(from, timeline[k].Time)
		to = timing.Later(to, timeline[k].Time)
	}
	if to.Sub(from) < 10*time.Second {
		to = from.Add(10 * time.Second)
	}
	margin := time.Duration(float64(to.Sub(from)) * laneMargin)
	return laneScale{from: from.Add(-margin), to: to.Add(2 * margin)}
}

// regionLanes are the regions to draw: those of the check, then those that only voted.
func regionLanes(s *story, timeline []client.TimelineEntry) []string {
	var keys []string
	if s.check != nil {
		keys = slices.Clone(s.check.Regions)
	}
	var voted []string
	for k := range timeline {
		if region := timeline[k].Region; region != nil {
			voted = append(voted, *region)
		}
	}
	for _, region := range append(slices.Clone(s.incident.Regions), voted...) {
		if !slices.Contains(keys, region) {
			keys = append(keys, region)
		}
	}
	if len(keys) > mostLanes { // the regions that voted say more than those that did not
		slices.SortStableFunc(keys, func(a, b string) int {
			return boolOrder(slices.Contains(voted, b)) - boolOrder(slices.Contains(voted, a))
		})
		keys = keys[:mostLanes]
	}
	return keys
}

func boolOrder(is bool) int {
	if is {
		return 1
	}
	return 0
}

func regionLane(
	r *request, s *story, region string, timeline []client.TimelineEntry, failures map[string]time.Time, scale laneScale,
) lane {
	l := lane{Name: r.city(region), Base: true}
	end := r.now
	if s.incident.ResolvedAt != nil {
		end = *s.incident.ResolvedAt
	}
	var since time.Time // of the vote that is under way
	for k := range timeline {
		t := &timeline[k]
		if t.Region == nil || *t.Region != region {
			continue
		}
		firing := len(*t.FiringRules) > 0
		switch {
		case firing && since.IsZero():
			since = t.Time
			if first, ok := failures[region]; ok && len(l.Bars) == 0 && first.Before(since) {
				l.Bars = append(l.Bars, scale.bar("few", "", first, since))
			}
		case !firing && !since.IsZero():
			l.Bars = append(l.Bars, scale.bar("votes", "votes failing", since, t.Time))
			since = time.Time{}
		}
	}
	if !since.IsZero() {
		l.Bars = append(l.Bars, scale.bar("votes", "votes failing", since, end))
	}
	return l
}

func incidentLane(r *request, i *client.Incident, scale laneScale) lane {
	l := lane{Name: "Incident", Strong: true}
	end := r.now
	if i.ResolvedAt != nil {
		end = *i.ResolvedAt
		l.After = &laneText{At: scale.at(end), Text: "resolved"}
	}
	if i.AcknowledgedAt == nil {
		l.Bars = []laneBar{scale.bar("triggered", "triggered", i.StartedAt, end)}
		return l
	}
	l.Bars = []laneBar{
		scale.bar("triggered", "triggered", i.StartedAt, *i.AcknowledgedAt),
		scale.bar("acknowledged", "acknowledged", *i.AcknowledgedAt, end),
	}
	return l
}

// channelLanes draws the attempts of each channel, in the order of their first one.
func channelLanes(timeline []client.TimelineEntry, scale laneScale, now time.Time) []lane {
	type drawn struct {
		lane
		waits []time.Duration
	}
	var order []string
	byChannel := make(map[string]*drawn)
	for k := range timeline {
		d, a := timeline[k].Delivery, timeline[k].Attempt
		if d == nil || a == nil || a.FinishedAt == nil {
			continue
		}
		id := d.ChannelId.String()
		l := byChannel[id]
		if l == nil {
			if len(order) == mostLanes {
				continue
			}
			l = &drawn{lane: lane{Name: d.ChannelName}}
			byChannel[id], order = l, append(order, id)
		}
		l.Points = append(l.Points, lanePoint{Failed: !a.Delivered, At: scale.at(a.StartedAt)})
		if !a.Delivered && a.NextAttemptAt != nil {
			until := *a.NextAttemptAt
			if d.Status == client.DeliveryStatusPending && until.After(now) {
				until = scale.to
			}
			l.Waits = append(l.Waits, scale.bar("wait", "", a.StartedAt, until))
			l.waits = append(l.waits, a.NextAttemptAt.Sub(a.StartedAt))
		}
		if a.Delivered && a.Number > 1 && l.After == nil {
			l.After = &laneText{At: scale.at(a.StartedAt), Text: ordinal(a.Number) + " attempt, after " + waitList(l.waits)}
			if scale.share(a.StartedAt) > 70 {
				l.After = nil
			}
		}
	}
	lanes := make([]lane, len(order))
	for i, id := range order {
		lanes[i] = byChannel[id].lane
	}
	return lanes
}

func waitList(waits []time.Duration) string {
	if len(waits) > 3 {
		return fmt.Sprintf("%d waits", len(waits))
	}
	texts := make([]string, len(waits))
	for i, wait := range waits {
		texts[i] = distance(wait)
	}
	return listed(texts)
}

func ordinal(n int64) string {
	words := []string{"first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth", "eleventh", "twelfth"}
	if n >= 1 && int(n) <= len(words) {
		return words[n-1]
	}
	return fmt.Sprintf("%d.", n)
}

// ticks are the times above the lanes.
func ticks(r *request, scale laneScale) []tick {
	steps := []time.Duration{
		time.Second, 5 * time.Second, 15 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute,
		15 * time.Minute, 30 * time.Minute, time.Hour, 2 * time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour,
		48 * time.Hour, 7 * 24 * time.Hour, 30 * 24 * time.Hour,
	}
	span := scale.to.Sub(scale.from)
	step := steps[len(steps)-1]
	if i := slices.IndexFunc(steps, func(d time.Duration) bool { return span <= mostTicks*d }); i >= 0 {
		step = steps[i]
	}
	layout := "15:04"
	switch {
	case step < time.Minute:
		layout = "15:04:05"
	case step >= 24*time.Hour:
		layout = "2 Jan"
	}
	var all []tick
	for at := scale.from.Truncate(step).Add(step); at.Before(scale.to); at = at.Add(step) {
		if share := scale.share(at); share < 2 || share > 98 {
			continue
		}
		all = append(all, tick{At: scale.at(at), Text: at.In(r.prefs.Zone).Format(layout)})
	}
	return all
}
