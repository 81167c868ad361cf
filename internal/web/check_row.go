// SPDX-License-Identifier: Apache-2.0

package web

import (
	"cmp"
	"fmt"
	"html/template"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil/client"
)

// checkRow is a check in the table of the overview. ID starts the ids of its cells.
type checkRow struct {
	ID, Check    string
	Name, Target string
	Href         string
	Type, Every  string
	State        string // of the API
	Mark         mark
	Reason       *reason
	Strip        strip

	Uptime       string
	Low          bool // the uptime is worth a look
	P95          string
	Dots         dots
	Seen         stamp
	Enabled      bool
	Incident     string // id of the open one
	Acknowledged bool
	Labels       []labelLink // the first ones
	MoreLabels   int
	Regions      string
}

// reason says why a check needs attention.
type reason struct {
	State string // down or warn
	What  string
	Age   stamp    // of the incident; none without one
	Notes []string // who has it
}

// lowUptime is the share below which an uptime is shown in red.
const lowUptime = 99.0

func (r *request) checkRow(c *client.Check) checkRow {
	id := rowID(c.Id)
	row := checkRow{
		ID: id, Check: c.Id.String(), Name: c.Name, Target: r.targetOf(c), Href: "/app/checks/" + c.Id.String(), Type: string(c.Type),
		Every: spanExact(time.Duration(c.IntervalSeconds) * time.Second), Enabled: c.Enabled, Uptime: "–", P95: "–",
	}
	row.Labels = labelLinks(c.Labels, r.checkView())
	if more := len(row.Labels) - labelsShown; more > 0 {
		row.Labels, row.MoreLabels = row.Labels[:labelsShown], more
	}
	newest := ""
	if c.LastChecked != nil {
		row.Seen = r.ago(*c.LastChecked)
		newest = row.Seen.Text
	}
	sum := c.Summary
	if sum == nil {
		return row
	}
	row.State = string(sum.State)
	row.Mark = stateMark(row.State)
	if row.State == "unknown" && c.LastChecked != nil {
		row.Mark = newMark("unknown", noRecentResult)
	}
	row.Mark.ID = id + "-mark"
	slow := 0.0
	if sum.SlowerThanMs != nil {
		slow = float64(*sum.SlowerThanMs)
	}
	row.Strip = newStrip(id+"-strip", sum, 60, slow, newest)
	row.Strip.Whole = row.State == "failing" || row.State == "warning"
	row.Uptime, row.P95 = percentOr(sum.Uptime24h), millisOr(sum.P95Ms)
	row.Low = sum.Uptime24h != nil && *sum.Uptime24h < lowUptime
	row.Dots = newDots(c, sum)
	row.Reason = r.reasonOf(sum)
	if open := sum.Incident; open != nil && open.Id != uuid.Nil {
		row.Incident, row.Acknowledged = open.Id.String(), open.Status == "acknowledged"
	}
	return row
}

// noRecentResult says that a check is not probed any more.
const noRecentResult = "No recent result"

// stateMark is the mark of a state of a check.
func stateMark(state string) mark {
	switch state {
	case "failing":
		return newMark("down", "Failing")
	case "warning":
		return newMark("warn", "Warning")
	case "passing":
		return newMark("up", "Passing")
	case "disabled":
		return newMark("paused", "Paused")
	}
	return newMark("unknown", "No result yet")
}

// reasonOf says why a check needs attention; nil when it does not.
func (r *request) reasonOf(sum *client.CheckSummary) *reason {
	open := sum.Incident
	var why reason
	switch sum.State {
	case client.CheckSummaryStateFailing:
		why = reason{State: "down", What: r.failure(sum)}
	case client.CheckSummaryStateWarning:
		why = reason{State: "warn", What: warning(sum)}
	default:
		return nil
	}
	if open == nil || open.Id == uuid.Nil {
		why.Notes = append(why.Notes, "no rule met")
		return &why
	}
	why.Age = r.ago(open.StartedAt)
	switch {
	case open.Status != "acknowledged":
		why.Notes = append(why.Notes, "unacknowledged")
	case open.AcknowledgedBy != nil:
		why.Notes = append(why.Notes, person(*open.AcknowledgedBy)+" has it")
	default:
		why.Notes = append(why.Notes, "acknowledged")
	}
	return &why
}

// person shortens a name or an address to what a row has room for.
func person(who string) string {
	name, _, _ := strings.Cut(who, "@")
	return name
}

// failure words what failed and where: 503 from Frankfurt, Singapore.
func (r *request) failure(sum *client.CheckSummary) string {
	var where []string
	var first *client.RegionSummary
	sameStatus := true
	for i := range sum.Regions {
		region := &sum.Regions[i]
		if region.HealthStatus != "unhealthy" {
			continue
		}
		where = append(where, region.Region)
		if first == nil {
			first = region
		} else {
			sameStatus = sameStatus && statusOf(first) == statusOf(region)
		}
	}
	if first == nil {
		return "Failing"
	}
	if status := statusOf(first); status >= 400 && sameStatus {
		if len(where) == len(sum.Regions) && len(where) > 2 {
			return fmt.Sprintf("%d from all %d regions", status, len(where))
		}
		return fmt.Sprintf("%d from %s", status, r.cityList(where))
	}
	text := "Failing"
	if first.ErrorMessage != nil {
		text = strings.TrimSuffix(*first.ErrorMessage, ".")
	}
	if len(sum.Regions) > 1 {
		text += " · " + r.cityList(where)
	}
	return text
}

func statusOf(region *client.RegionSummary) int64 {
	if region.StatusCode == nil {
		return 0
	}
	return *region.StatusCode
}

// warning words which rule fires.
func warning(sum *client.CheckSummary) string {
	open := sum.Incident
	switch {
	case slices.Contains(open.Matched, "response_time_ms") && sum.SlowerThanMs != nil:
		return "Slower than " + number(*sum.SlowerThanMs) + " ms"
	case slices.Contains(open.Matched, "ssl_days_remaining") && open.Days != nil:
		return "Expires in " + counted(*open.Days, "day")
	case slices.Contains(open.Matched, "failure_threshold"), slices.Contains(open.Matched, "health_status"):
		return "Passing again, the incident is open"
	}
	return open.Title
}

// targetOf says what a check probes, short enough for a row.
func (r *request) targetOf(c *client.Check) string {
	text := func(name string) string { value, _ := c.Config[name].(string); return value }
	if address := text("url"); address != "" {
		if at, err := url.Parse(address); err == nil && at.Host != "" {
			shown := at.Host + strings.TrimSuffix(at.EscapedPath(), "/")
			if at.RawQuery != "" {
				shown += "?" + at.RawQuery
			}
			return shown
		}
		return address
	}
	if steps, ok := c.Config["steps"].([]any); ok {
		shown := counted(int64(len(steps)), "step")
		if len(steps) > 0 {
			step, _ := steps[0].(map[string]any)
			address, _ := step["url"].(string)
			if at, err := url.Parse(address); err == nil && at.Host != "" {
				shown += " · " + at.Host
			}
		}
		return shown
	}
	if smtp, ok := c.Config["smtp"].(map[string]any); ok {
		host, _ := smtp["host"].(string)
		return host + " → imap"
	}
	host := cmp.Or(text("host"), text("domain"))
	if types, err := r.checkTypes(); err == nil && host == "" {
		if known := types.named(string(c.Type)); known != nil {
			host = text(orNone(known.Target))
		}
	}
	if port, ok := c.Config["port"].(float64); ok && port > 0 {
		host = fmt.Sprintf("%s:%d", host, int(port))
	}
	if records, ok := c.Config["record_type"].(string); ok {
		host = records + " · " + host
	}
	return host
}

// dots are the regions of a check, those that fail last.
type dots struct {
	Shown            bool
	Width            int
	Pass, Warn, Fail string // path data
	Text             string // 2/3: passing of all
}

// maxDots is how many regions have a dot each; with more the fraction says it alone.
const maxDots = 8

func newDots(c *client.Check, sum *client.CheckSummary) dots {
	passing, failing := 0, 0
	for _, region := range sum.Regions {
		switch region.HealthStatus {
		case "healthy":
			passing++
		case "unhealthy":
			failing++
		default: // nothing more to do for the others
		}
	}
	all := len(c.Regions)
	d := dots{Text: fmt.Sprintf("%d/%d", passing, all), Width: 0}
	if all > maxDots || !c.Enabled {
		return d
	}
	d.Shown = true
	x := 1.0
	var pass, warn, fail strings.Builder
	for range passing {
		if sum.State == "warning" {
			fmt.Fprintf(&warn, "M%.4g 2 %.4g 8.5H%.4gZ", x+4, x+7.5, x+0.5)
			x += 12
			continue
		}
		fmt.Fprintf(&pass, "M%.4g 5.5a2.5 2.5 0 1 0 5 0a2.5 2.5 0 1 0 -5 0Z", x+1)
		x += 11
	}
	for range failing {
		fmt.Fprintf(&fail, "M%.4g 1 %.4g 5.5 %.4g 10 %.4g 5.5Z", x+4.5, x+9, x+4.5, x)
		x += 11
	}
	d.Pass, d.Warn, d.Fail = pass.String(), warn.String(), fail.String()
	d.Width = int(math.Ceil(x))
	return d
}

// Drawing is the dots as an element, made here as that of a strip is.
func (d dots) Drawing() template.HTML {
	var b strings.Builder
	b.WriteString(`<svg class="dots" width="` + strconv.Itoa(d.Width) + `" height="10" role="img" aria-label="regions passing:">`)
	writePaths(&b, [][2]string{{"pass", d.Pass}, {"warn", d.Warn}, {"fail", d.Fail}})
	b.WriteString("</svg>")
	return template.HTML(b.String()) //nolint:gosec // numbers alone
}
