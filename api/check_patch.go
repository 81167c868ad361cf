package api

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"time"

	"vigil"
	"vigil/api/rest"
)

// maxInterval bounds the interval of a check, in seconds: 30 days.
const maxInterval = 30 * 24 * 60 * 60

// checkPatch is what a request asks of a check. Nil members are left as they
// are.
type checkPatch struct {
	name         *string
	kind         *vigil.CheckType
	config       json.RawMessage
	interval     *time.Duration
	regions      []string // keys, never aliases
	enabled      *bool
	simultaneous *bool
	// given are the members that the request named, ignored ones included.
	given map[string]struct{}
}

// checkReadOnly are the members that a check shows and nobody can set.
func checkReadOnly() []string {
	return []string{"id", "org_id", "health_status", "last_checked", "expires_at", "created_at", "updated_at"}
}

// readCheckPatch reads a body. A new check needs some members.
func readCheckPatch(body json.RawMessage, creates bool) (checkPatch, error) {
	m, err := readMembers(body)
	if err != nil {
		return checkPatch{}, err
	}
	given := make(map[string]struct{}, len(m.raw))
	for name := range m.raw {
		given[name] = struct{}{}
	}
	if creates {
		m.require("name", "type", "config", "interval_seconds")
	}
	patch := checkPatch{
		given:        given,
		name:         read[string](m, "name", "a string"),
		kind:         read[vigil.CheckType](m, "type", "a string"),
		config:       m.object("config"),
		enabled:      read[bool](m, "enabled", "true or false"),
		simultaneous: read[bool](m, "simultaneous_regions", "true or false"),
	}
	if seconds := m.whole("interval_seconds", 1, maxInterval); seconds != nil {
		patch.interval = new(time.Duration(*seconds) * time.Second)
	}
	regions := read[[]string](m, "regions", "an array of strings")
	if err := m.finish(checkReadOnly()...); err != nil {
		return checkPatch{}, err
	}
	if patch.name != nil {
		if *patch.name, err = rest.CleanName("name", *patch.name); err != nil {
			return checkPatch{}, err
		}
	}
	if regions != nil {
		patch.regions, err = resolveRegions(*regions)
	}
	return patch, err
}

// newCheck makes the check that a request describes.
func (c *checks) newCheck(patch checkPatch, plan vigil.Plan) (vigil.Check, error) {
	check := vigil.Check{Enabled: true, Simultaneous: true}
	if patch.regions == nil {
		region, _ := vigil.RegionByKey(vigil.DefaultRegionAlias)
		patch.regions = []string{region.Key}
	}
	return check, c.change(&check, patch, plan)
}

// change applies a patch. What the patch leaves alone is not judged again: a
// check that an older plan allowed can still be renamed or disabled.
func (c *checks) change(check *vigil.Check, patch checkPatch, plan vigil.Plan) error {
	before := *check
	if patch.name != nil {
		check.Name = *patch.name
	}
	if patch.enabled != nil {
		check.Enabled = *patch.enabled
	}
	if patch.simultaneous != nil {
		check.Simultaneous = *patch.simultaneous
	}
	if patch.interval != nil && *patch.interval != check.Interval {
		if *patch.interval < plan.MinInterval {
			return vigil.Invalid("interval_seconds", "must be at least %d on the %s tier", rest.CeilSeconds(plan.MinInterval), plan.Tier)
		}
		check.Interval = *patch.interval
	}
	if patch.regions != nil && !slices.Equal(patch.regions, check.Regions) {
		if err := permitRegions(patch.regions, plan); err != nil {
			return err
		}
		check.Regions = patch.regions
	}
	return c.changeTarget(check, before, patch)
}

// changeTarget applies the members that say what is probed. When anything about
// that is new, or the check starts to run, a probe must be possible.
func (c *checks) changeTarget(check *vigil.Check, before vigil.Check, patch checkPatch) error {
	if patch.kind != nil && *patch.kind != check.Type {
		if patch.config == nil {
			return vigil.Invalid("config", "must come along when type changes")
		}
		check.Type = *patch.kind
	}
	if patch.config != nil {
		config, err := c.types.Secrets(check.Type).Keep(patch.config, check.Config)
		if err != nil {
			return err
		}
		if !sameJSON(config, check.Config) {
			check.Config = config
		}
	}
	same := check.Type == before.Type && bytes.Equal(check.Config, before.Config) && check.Interval == before.Interval
	if same && (before.Enabled || !check.Enabled) {
		return nil
	}
	probe, err := c.types.Parse(check.Type, check.Config, check.Interval)
	if err != nil {
		return err
	}
	check.Target = probe.Target()
	return nil
}

// sameJSON reports whether two texts say the same, however they are written.
func sameJSON(a, b json.RawMessage) bool {
	var x, y any
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return false
	}
	return reflect.DeepEqual(x, y)
}
