// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"bufio"
	"math"
	"strconv"
	"strings"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/overview"
)

// exposition is an answer in the text format of Prometheus.
type exposition struct {
	checks []overview.CheckFigures
	total  int64    // checks of the organization
	names  []string // of the labels in checks
	used   float64  // executions per hour
	limit  *int64   // of them; nil: none

	scratch []byte
}

// write writes one family of series after the other, as the format demands. What the writer
// cannot write is lost with the connection.
func (e *exposition) write(w *bufio.Writer) {
	_, _ = w.WriteString("# At most " + strconv.Itoa(metricsChecks) + " checks are shown, the oldest first, and at most " +
		strconv.Itoa(metricsLabels) + " labels: a check has 3 series, and 4 in each of its regions.\n")
	e.family(w, "vigil_checks", "Checks of the organization, disabled ones included.")
	e.sample(w, "vigil_checks", "", float64(e.total))
	e.family(w, "vigil_checks_omitted", "Checks beyond the number that is shown.")
	e.sample(w, "vigil_checks_omitted", "", float64(max(0, e.total-int64(len(e.checks)))))
	e.family(w, "vigil_budget_executions_used", "Executions per hour of the enabled checks.")
	e.sample(w, "vigil_budget_executions_used", "", e.used)
	e.family(w, "vigil_budget_executions_limit", "Executions per hour that the tier allows; absent without a limit.")
	if e.limit != nil {
		e.sample(w, "vigil_budget_executions_limit", "", float64(*e.limit))
	}
	labels := make([]string, len(e.checks))
	for i := range e.checks {
		labels[i] = e.labels(&e.checks[i])
	}
	e.byCheck(w, labels)
	e.byRegion(w, labels)
}

// byCheck writes the series of checks.
func (e *exposition) byCheck(w *bufio.Writer, labels []string) {
	for _, family := range []struct {
		name, help string
		value      func(*overview.CheckFigures) (bool, bool)
	}{
		{"vigil_check_enabled", "1 while the check is enabled, else 0.", func(c *overview.CheckFigures) (bool, bool) { return c.Enabled, true }},
		{
			"vigil_check_incident_open", "1 while an incident of the check is open, else 0.",
			func(c *overview.CheckFigures) (bool, bool) { return c.IncidentOpen, true },
		},
		{
			"vigil_check_in_maintenance", "1 while a maintenance window covers the check, else 0; absent while it is disabled.",
			func(c *overview.CheckFigures) (bool, bool) { return c.InMaintenance, c.Enabled },
		},
	} {
		e.family(w, family.name, family.help)
		for i := range e.checks {
			if holds, shown := family.value(&e.checks[i]); shown {
				e.sample(w, family.name, labels[i], oneIf(holds))
			}
		}
	}
}

// byRegion writes the series of checks in their regions.
func (e *exposition) byRegion(w *bufio.Writer, labels []string) {
	for _, family := range []struct {
		name, help string
		value      func(*overview.RegionFigures) (float64, bool)
	}{
		{"vigil_check_up", "1 when the newest result in the region succeeded, 0 when it failed; absent without one.", upOf},
		{"vigil_check_response_seconds", "Response time of the newest result in the region.", responseOf},
		{"vigil_check_ssl_days_remaining", "Days that the certificate has left, by the newest result in the region.", daysOf},
		{"vigil_check_last_result_timestamp_seconds", "When the newest result in the region was made, as Unix time.", lastOf},
	} {
		e.family(w, family.name, family.help)
		for i := range e.checks {
			for n := range e.checks[i].Regions {
				region := &e.checks[i].Regions[n]
				if value, shown := family.value(region); shown {
					e.sample(w, family.name, labels[i]+`,region="`+escapeLabel(region.Region)+`"`, value)
				}
			}
		}
	}
}

func upOf(r *overview.RegionFigures) (float64, bool) {
	return oneIf(r.Health == vigil.Healthy), r.Health != vigil.Unknown
}

func responseOf(r *overview.RegionFigures) (float64, bool) {
	return r.Response.Seconds(), r.Response >= 0
}

func daysOf(r *overview.RegionFigures) (float64, bool) {
	if r.SSLDays == nil {
		return 0, false
	}
	return *r.SSLDays, true
}

func lastOf(r *overview.RegionFigures) (float64, bool) {
	return float64(r.Time.UnixMilli()) / 1000, !r.Time.IsZero()
}

func oneIf(holds bool) float64 {
	if holds {
		return 1
	}
	return 0
}

// labels returns the labels of a check, made once for all of its series.
func (e *exposition) labels(c *overview.CheckFigures) string {
	var text strings.Builder
	text.WriteString(`check="` + c.ID.String() + `",name="` + escapeLabel(c.Name) + `",type="` + escapeLabel(string(c.Type)) + `"`)
	for i, value := range c.Labels {
		if value != "" {
			text.WriteString(`,` + e.names[i] + `="` + escapeLabel(value) + `"`)
		}
	}
	return text.String()
}

// labelEscapes are what the format escapes in the value of a label.
//
//nolint:gochecknoglobals // a constant
var labelEscapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

func escapeLabel(value string) string {
	return labelEscapes.Replace(strings.ToValidUTF8(value, "\uFFFD"))
}

// family begins a family of gauges.
func (e *exposition) family(w *bufio.Writer, name, help string) {
	_, _ = w.WriteString("# HELP " + name + " " + help + "\n# TYPE " + name + " gauge\n")
}

// sample writes one line.
func (e *exposition) sample(w *bufio.Writer, name, labels string, value float64) {
	line := append(e.scratch[:0], name...)
	if labels != "" {
		line = append(append(append(line, '{'), labels...), '}')
	}
	line = append(line, ' ')
	if value == math.Trunc(value) && math.Abs(value) < 1<<53 {
		line = strconv.AppendInt(line, int64(value), 10)
	} else {
		line = strconv.AppendFloat(line, value, 'f', -1, 64)
	}
	e.scratch = append(line, '\n')
	_, _ = w.Write(e.scratch)
}
