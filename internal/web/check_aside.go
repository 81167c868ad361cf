// SPDX-License-Identifier: Apache-2.0

package web

import (
	"bytes"
	"encoding/json"
	"math"
	"net/http"
	"strconv"
	"strings"
)

// asideView stands beside the form: what a test shows, the same as a command, and what the
// check costs of the plan.
type asideView struct {
	Trial   *trial
	Pings   string // instead of a test, for what is not probed: where its job pings
	Command string
	Cost    string
}

func (c *checkForm) aside() (asideView, error) {
	command, err := c.command()
	if err != nil {
		return asideView{}, err
	}
	cost, err := c.cost()
	v := asideView{Trial: c.tried, Command: command, Cost: cost}
	switch {
	case c.kind != kindHeartbeat:
	case c.stored == nil:
		v.Pings = "Nothing is probed. The page of the check shows the address that its job pings once it has run."
	default:
		v.Pings = "Nothing is probed. The address that its job pings stays the same."
	}
	return v, err
}

// command writes the form as a command of a terminal, without its secrets.
func (c *checkForm) command() (string, error) {
	body := c.body()
	body.Config = maskConfig(c.members(), body.Config, "")
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("      ", "  ")
	if err := encoder.Encode(body); err != nil {
		return "", err
	}
	verb, path := "", "/v1/checks"
	if c.stored != nil {
		verb, path = "-X PUT ", path+"/"+c.stored.id.String()
	}
	return "curl -s " + verb + "$VIGIL" + path +
		" \\\n  -H \"Authorization: Bearer $KEY\" \\\n  -H 'Content-Type: application/json' \\\n  -d '" +
		strings.ReplaceAll(
			strings.TrimSpace(text.String()),
			"'",
			`'\''`,
		) + "'", nil
}

// cost says how many executions the check makes, and what the plan has left.
func (c *checkForm) cost() (string, error) {
	usage, err := c.r.api.GetUsageWithResponse(c.r.Context())
	if err != nil {
		return "", err
	}
	hourly := c.hourly()
	if hourly <= 0 {
		return "", nil
	}
	text := counted(hourly, "execution") + " an hour"
	plan := usage.JSON200.Data.ExecutionsPerHour
	if plan.Limit == nil {
		return text + ". Your plan has no limit.", nil
	}
	left := float64(*plan.Limit) - plan.Used
	if c.stored != nil {
		if before := c.stored.hourly(); int64(math.Round(before)) != hourly {
			text += ", " + number(int64(math.Round(before))) + " before"
		}
		left += c.stored.hourly()
	}
	return text + ". Your plan has " + number(int64(left)) + " left.", nil
}

// hourly is how many executions an hour the form makes, rounded; 0 when that is not known.
func (c *checkForm) hourly() int64 {
	interval, regions := c.typed.Get("interval_seconds"), len(c.typed.Values["regions"])
	if c.kind == kindHeartbeat { // both follow from the schedule
		interval, regions = c.typed.Get("config.schedule.every_seconds"), 1
	}
	seconds, ok := numberOf(strings.TrimSpace(interval)).(json.Number)
	value, err := seconds.Float64()
	if !ok || err != nil || value < 1 || !c.typed.Has("enabled") {
		return 0
	}
	return int64(math.Round(3600 / value * float64(regions)))
}

// trial is what a test of the form's config showed.
type trial struct {
	Regions []trialRegion
	Summary string
	// Message and Problems are why there was no test.
	Message  string
	Problems []problem
}

// trialRegion is what one region saw.
type trialRegion struct {
	City, Mark, Word string
	Status           string // of the HTTP answer
	Took             string // milliseconds
	Phases           []trialPhase
	Facts            string
	Problem          string
}

// phase is a part of the bar of a response time.
type trialPhase struct{ X, Width, Class string }

// try tests the form's config in the regions that are chosen.
func (c *checkForm) try() error {
	c.typed.tidy(emptyPairs(c.members(), c.typed, "config"))
	body := map[string]any{"type": c.kind, "config": c.body().Config, "regions": c.body().Regions}
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	answer, err := c.r.api.TryCheckWithBodyWithResponse(c.r.Context(), jsonType, bytes.NewReader(text))
	if err == nil {
		c.tried, err = c.r.trialOf(answer.Body)
		return err
	}
	view, problem := c.view() // declares the fields that the API's messages belong to
	if problem != nil {
		return problem
	}
	if !c.refused(c.located(err)) {
		return err
	}
	c.reveal(view)
	c.tried = &trial{Message: c.Message, Problems: c.Problems}
	if c.Message == "" && len(c.Problems) == 0 {
		c.tried.Message = err.Error()
	}
	// The answer is a page again, whose fields say the same.
	*c.form = form{Status: http.StatusOK, Heading: c.Heading}
	return nil
}

// trialOf reads the results of a test.
func (r *request) trialOf(text []byte) (*trial, error) {
	var list struct {
		Data []struct {
			Region   string
			Success  bool
			Took     int64   `json:"response_time_ms"`
			Status   *int64  `json:"status_code"`
			Problem  *string `json:"error_message"`
			Metadata seen
		}
	}
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, err
	}
	var longest float64
	for i := range list.Data {
		longest = max(longest, list.Data[i].Metadata.Timings.sum())
	}
	made, passed := &trial{}, int64(0)
	for i := range list.Data {
		each := &list.Data[i]
		row := trialRegion{City: r.city(each.Region), Mark: "down", Word: "Failing", Took: number(each.Took), Facts: each.Metadata.facts()}
		switch {
		case each.Success:
			row.Mark, row.Word = "up", "Passing"
			passed++
		case each.Metadata.Unavailable:
			row.Mark, row.Word, row.Took = "unknown", "No answer", ""
		}
		if each.Status != nil && *each.Status > 0 {
			row.Status = number(*each.Status)
		}
		if each.Problem != nil {
			row.Problem = *each.Problem
		}
		row.Phases = each.Metadata.Timings.trialTimes(longest)
		made.Regions = append(made.Regions, row)
	}
	switch all := int64(len(list.Data)); {
	case passed == all && all == 1:
		made.Summary = "Passes."
	case passed == all:
		made.Summary = "Passes in all " + number(all) + " regions."
	case passed == 0:
		made.Summary = "Fails. You can save it all the same."
	default:
		made.Summary = "Passes in " + number(passed) + " of " + number(all) + " regions. You can save it all the same."
	}
	return made, nil
}

// seen are the members of a result's metadata that the form shows.
type seen struct {
	Unavailable bool     `json:"unavailable"`
	Protocol    string   `json:"protocol"`
	TLS         string   `json:"tls_version"`
	CertDays    *int64   `json:"cert_days_remaining"`
	Days        *int64   `json:"days_remaining"` // of an ssl check
	IP          string   `json:"ip"`
	Resolver    string   `json:"resolver"`
	Answers     []any    `json:"answers"`
	Mbps        *float64 `json:"mbps"`
	Steps       []struct {
		Name    string
		Success bool
	} `json:"steps"`
	Timings trialTimes `json:"timings"`
}

// facts is the line below a result.
func (s *seen) facts() string {
	var parts []string
	add := func(text string) {
		if text != "" {
			parts = append(parts, text)
		}
	}
	add(strings.TrimSuffix(s.Protocol, ".0"))
	add(s.TLS)
	for _, days := range []*int64{s.CertDays, s.Days} {
		if days != nil {
			add("certificate " + counted(*days, "day"))
		}
	}
	if s.Protocol == "" {
		add(s.IP)
		add(s.Resolver)
	}
	if len(s.Answers) > 0 {
		add(counted(int64(len(s.Answers)), "record"))
	}
	if s.Mbps != nil {
		add(percent(*s.Mbps) + " Mbit/s")
	}
	if len(s.Steps) > 0 {
		add(counted(int64(len(s.Steps)), "step"))
	}
	return strings.Join(parts, " · ")
}

// phases are the times of an exchange, in milliseconds.
type trialTimes struct {
	DNS      float64 `json:"dns_ms"`
	Connect  float64 `json:"connect_ms"`
	TLS      float64 `json:"tls_ms"`
	Wait     float64 `json:"ttfb_ms"`
	Transfer float64 `json:"transfer_ms"`
}

func (p trialTimes) sum() float64 { return p.DNS + p.Connect + p.TLS + p.Wait + p.Transfer }

// trialWidth is the width of the longest bar.
const trialWidth = 268

// phases draws the times as a bar whose length is a share of the longest one.
func (p trialTimes) trialTimes(longest float64) []trialPhase {
	if longest <= 0 || p.sum() <= 0 {
		return nil
	}
	var bar []trialPhase
	at := 0.0
	for i, ms := range []float64{p.DNS, p.Connect, p.TLS, p.Wait, p.Transfer} {
		if ms <= 0 {
			continue
		}
		width := max(1, ms/longest*trialWidth-1)
		bar = append(bar, trialPhase{X: svgNumber(at), Width: svgNumber(width), Class: "p" + number(int64(i+1))})
		at += width + 1
	}
	return bar
}

func svgNumber(v float64) string { return strconv.FormatFloat(math.Round(v*10)/10, 'f', -1, 64) }
