// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/api/resource"
	"github.com/vigil-monitor/vigil/api/rest"
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/internal/probe"
)

// CheckMembers are the members of a check that can be written. What else a check
// shows may come along and is ignored.
type CheckMembers struct {
	Name                rest.Field[string]          `json:"name,omitzero" example:"Home page"`
	Type                rest.Field[vigil.CheckType] `json:"type,omitzero" doc:"How the target is probed." example:"https"`
	Config              rest.Field[rest.Object]     `json:"config,omitzero" doc:"What is probed; its members depend on the type. A secret that is written as *** is kept."`
	IntervalSeconds     rest.Field[rest.Integer]    `json:"interval_seconds,omitzero" minimum:"1" maximum:"2592000" doc:"Seconds between two results of a region. A new check needs it, but a heartbeat: there it follows from the schedule." example:"60"`
	Regions             rest.Field[[]string]        `json:"regions,omitzero" doc:"Keys or aliases of the regions that the check runs in, and keys of locations, such as loc-office. A heartbeat has the region heartbeat and no other."`
	Enabled             rest.Field[bool]            `json:"enabled,omitzero"`
	SimultaneousRegions rest.Field[bool]            `json:"simultaneous_regions,omitzero" doc:"Whether all regions probe at the same instants; otherwise they are spread evenly over the interval."`
	Evidence            rest.Field[bool]            `json:"evidence,omitzero" doc:"Whether failed results keep what the probe saw: status line, headers, the beginning of the body, DNS answers and certificates. false switches it off."`
	Retry               retryMember                 `json:"retry,omitzero" doc:"Replaces the whole member. What it leaves out has its default."`
	Labels              rest.Field[vigil.Labels]    `json:"labels,omitzero" doc:"Replaces all labels: up to 20 names and values. A name has 1 to 63 characters of a-z, 0-9, ., _, / and -; a value has up to 200."`
	ManagedBy           resource.ManagedMember      `json:"managed_by,omitzero" doc:"The program that manages the check. Absent keeps it, and null releases the check."`

	ID           any `json:"id,omitempty" readOnly:"true" doc:"Ignored."`
	OrgID        any `json:"org_id,omitempty" readOnly:"true" doc:"Ignored."`
	Summary      any `json:"summary,omitempty" readOnly:"true" doc:"Ignored."`
	Maintenance  any `json:"maintenance,omitempty" readOnly:"true" doc:"Ignored."`
	Warnings     any `json:"warnings,omitempty" readOnly:"true" doc:"Ignored."`
	PingURL      any `json:"ping_url,omitempty" readOnly:"true" doc:"Ignored."`
	HealthStatus any `json:"health_status,omitempty" readOnly:"true" doc:"Ignored."`
	LastChecked  any `json:"last_checked,omitempty" readOnly:"true" doc:"Ignored."`
	ExpiresAt    any `json:"expires_at,omitempty" readOnly:"true" doc:"Ignored."`
	Revision     any `json:"revision,omitempty" readOnly:"true" doc:"Ignored."`
	CreatedAt    any `json:"created_at,omitempty" readOnly:"true" doc:"Ignored."`
	UpdatedAt    any `json:"updated_at,omitempty" readOnly:"true" doc:"Ignored."`
}

type (
	// CheckCreate is the body that creates a check.
	CheckCreate struct {
		CheckMembers

		Rules []AlertRuleCreate `json:"rules,omitempty" maxItems:"100" doc:"Alert rules that are created with the check, in one transaction: all of it, or nothing."`
	}
	checkUpdate struct{ CheckMembers }
)

// TransformSchema says what a new check needs.
func (CheckCreate) TransformSchema(_ huma.Registry, s *huma.Schema) *huma.Schema {
	s.Required = []string{"name", "type", "config"}
	return s
}

// Clean brings the name and the regions into the form in which they are stored. The error is about all of
// the members; those that are wrong count as absent from then on.
func (m *CheckMembers) Clean(places *Places) error {
	var name, regions error
	if m.Name.Given {
		if m.Name.Value, name = rest.CleanName("name", m.Name.Value); name != nil {
			m.Name.Given = false
		}
	}
	if m.Regions.Given {
		if m.Regions.Value, regions = places.resolve(m.Regions.Value); regions != nil {
			m.Regions.Given = false
		}
	}
	return rest.Together(name, regions, m.Labels.Value.Validate())
}

// newCheck makes the check that a request describes.
func (c *Checks) newCheck(in *CheckMembers, plan account.Plan) (vigil.Check, error) {
	check := vigil.Check{Enabled: true, Simultaneous: true}
	in.fillRegions()
	return check, c.Change(&check, in, plan)
}

// fillRegions gives a check without regions the one of a new check.
func (m *CheckMembers) fillRegions() {
	switch {
	case m.Regions.Given:
	case m.Type.Value == vigil.TypeHeartbeat:
		m.Regions = rest.Field[[]string]{Value: []string{vigil.HeartbeatRegion}, Given: true}
	default:
		region, _ := vigil.RegionByKey(vigil.DefaultRegionAlias)
		m.Regions = rest.Field[[]string]{Value: []string{region.Key}, Given: true}
	}
}

// Fill gives every member that is left out, but enabled, what it is for a new check.
func (m *CheckMembers) Fill() {
	m.fillRegions()
	if !m.SimultaneousRegions.Given {
		m.SimultaneousRegions = rest.Field[bool]{Value: true, Given: true}
	}
	if !m.Evidence.Given {
		m.Evidence = rest.Field[bool]{Value: true, Given: true}
	}
	m.Retry.Given, m.Labels.Given = true, true
}

// Change applies the members that were given. The others are not judged again: a
// check that an older plan allowed can still be renamed or disabled.
func (c *Checks) Change(check *vigil.Check, in *CheckMembers, plan account.Plan) error {
	before := *check
	if in.Name.Given {
		check.Name = in.Name.Value
	}
	if in.Enabled.Given {
		check.Enabled = in.Enabled.Value
	}
	if in.SimultaneousRegions.Given {
		check.Simultaneous = in.SimultaneousRegions.Value
	}
	if in.Evidence.Given {
		check.NoEvidence = !in.Evidence.Value
	}
	if in.Labels.Given {
		check.Labels = in.Labels.Value
	}
	wrong := []error{setRetry(&check.Retry, in.Retry), resource.SetManagedBy(&check.ManagedBy, in.ManagedBy)}
	if kind := in.kind(check); kind == vigil.TypeHeartbeat {
		return rest.Together(append(wrong, c.changeHeartbeat(check, before, in, plan))...)
	}
	wrong = append(wrong, changeInterval(check, in, plan), changeRegions(check, in, plan))
	judged := *check
	if check.Interval == 0 {
		judged.Interval = anyInterval
	}
	err := c.changeTarget(&judged, before, in)
	if err = rest.Together(append(wrong, err)...); err == nil {
		*check = judged
	}
	return err
}

// changeInterval applies the interval of a check that is probed. One that is wrong leaves none.
func changeInterval(check *vigil.Check, in *CheckMembers, plan account.Plan) error {
	if interval := time.Duration(in.IntervalSeconds.Value) * time.Second; in.IntervalSeconds.Given && interval != check.Interval {
		if check.Interval = interval; interval < plan.MinInterval {
			check.Interval = 0
			return vigil.Invalid("interval_seconds", "must be at least %d on the %s tier", rest.CeilSeconds(plan.MinInterval), plan.Tier)
		}
	}
	if check.Interval == 0 {
		return vigil.Invalid("interval_seconds", "is required")
	}
	return nil
}

// changeRegions applies the regions of a check that is probed.
func changeRegions(check *vigil.Check, in *CheckMembers, plan account.Plan) error {
	if slices.Contains(in.regionsOf(check), vigil.HeartbeatRegion) {
		return vigil.Invalid("regions", "must name regions to probe from; only a check of type heartbeat has the region heartbeat")
	}
	if !in.Regions.Given || slices.Equal(in.Regions.Value, check.Regions) {
		return nil
	}
	if err := permitRegions(in.Regions.Value, plan); err != nil {
		return err
	}
	check.Regions = in.Regions.Value
	return nil
}

// changeTarget applies the members that say what is probed. When anything about
// that is new, or the check starts to run, a probe must be possible.
func (c *Checks) changeTarget(check *vigil.Check, before vigil.Check, in *CheckMembers) error {
	if in.Type.Given && in.Type.Value != check.Type {
		if !in.Config.Given {
			return vigil.Invalid("config", "must come along when type changes")
		}
		check.Type = in.Type.Value
	}
	if in.Config.Given {
		config, err := c.Types.Secrets(check.Type).Keep(json.RawMessage(in.Config.Value), check.Config)
		if err != nil {
			return err
		}
		if !SameJSON(config, check.Config) {
			if err := checkStepNames(config); err != nil {
				return err
			}
			check.Config = config
		}
	}
	same := check.Type == before.Type && bytes.Equal(check.Config, before.Config) && check.Interval == before.Interval &&
		check.Retry == before.Retry
	if same && (before.Enabled || !check.Enabled) {
		return nil
	}
	return c.Permit(check)
}

// Permit returns an error when the check cannot be probed as it says. It sets the target.
func (c *Checks) Permit(check *vigil.Check) error {
	parsed, err := c.Types.Parse(check.Type, check.Config, check.Interval)
	if err != nil {
		return c.alsoWrong(check.Type, check.Config, check.Interval, err)
	}
	check.Target = parsed.Target()
	return check.Retry.Admit(parsed.Deadline(), check.Interval, probe.ChangesOf(parsed))
}

// checkStepNames refuses names of steps that a person could take for others. It is not part
// of parsing a config, since stored checks that have such names still run.
func checkStepNames(config json.RawMessage) error {
	var of struct {
		Steps []struct {
			Name string `json:"name"`
		} `json:"steps"`
	}
	if json.Unmarshal(config, &of) != nil {
		return nil // parsing says what is wrong
	}
	for i, step := range of.Steps {
		if step.Name == "" {
			continue
		}
		if _, err := rest.CleanName(fmt.Sprintf("config.steps[%d].name", i), step.Name); err != nil {
			return err
		}
	}
	return nil
}

// SameJSON reports whether two texts say the same, however they are written.
func SameJSON(a, b json.RawMessage) bool {
	var x, y any
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return false
	}
	return reflect.DeepEqual(x, y)
}
