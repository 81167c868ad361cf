// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/api/rest"
)

const (
	// mostWrong bounds how many members of a config are looked for.
	mostWrong = 20
	// anyInterval is one that every timeout fits: a config is judged by it where the interval of its
	// check is wrong.
	anyInterval = 30 * 24 * time.Hour
)

// judgeCreate says what else is wrong with a body whose form is refused.
func (c *Checks) judgeCreate(ctx context.Context, body []byte) error {
	var in CheckCreate
	if json.Unmarshal(body, &in) != nil {
		return nil
	}
	in.onlyUsable()
	_, _, err := c.read(ctx, &in)
	return err
}

// judgeUpdate says what else is wrong with a body whose form is refused, as far as that does not need the
// check that is changed.
func (c *Checks) judgeUpdate(ctx context.Context, body []byte) error {
	var in checkUpdate
	if json.Unmarshal(body, &in) != nil {
		return nil
	}
	in.onlyUsable()
	wrong := in.Clean(c.Places(ctx))
	if !in.Type.Given || !in.Config.Given {
		return wrong
	}
	draft := vigil.Check{Interval: anyInterval, Enabled: true}
	return rest.Together(wrong, c.Change(&draft, &in.CheckMembers, c.Plans.Of(rest.CallerOf(ctx))))
}

// onlyUsable takes members of a wrong form for absent ones: the form is reported already.
func (m *CheckMembers) onlyUsable() {
	m.Name.DropUnusable()
	m.Type.DropUnusable()
	m.Config.DropUnusable()
	m.IntervalSeconds.DropUnusable()
	m.Regions.DropUnusable()
	m.Enabled.DropUnusable()
	m.SimultaneousRegions.DropUnusable()
	m.Evidence.DropUnusable()
	m.Labels.DropUnusable()
}

// read makes the check and the rules that a body describes. The error is about all members that are wrong.
func (c *Checks) read(ctx context.Context, in *CheckCreate) (vigil.Check, []vigil.Rule, error) {
	who := rest.CallerOf(ctx)
	wrong := []error{in.Clean(c.Places(ctx))}
	check, err := c.newCheck(&in.CheckMembers, c.Plans.Of(who))
	wrong = append(wrong, err)
	rules := make([]vigil.Rule, len(in.Rules))
	for i := range in.Rules {
		rules[i], err = in.Rules[i].NewRule(who.Org.ID, check.ID)
		wrong = append(wrong, rest.Under("rules["+strconv.Itoa(i)+"]", err))
	}
	return check, rules, rest.Together(wrong...)
}

// alsoWrong returns an error about the member of a config that err is about, and about the others that
// are wrong too. A parser stops at the first, so the config is parsed again without that one.
func (c *Checks) alsoWrong(kind vigil.CheckType, given json.RawMessage, interval time.Duration, err error) error {
	var tree map[string]any
	if json.Unmarshal(given, &tree) != nil {
		return err
	}
	r := repair{tree: tree, samples: c.samples(kind), index: make(map[string][]int)}
	wrong := []error{err}
	for range mostWrong {
		if !r.mend(memberOf(err)) {
			break
		}
		text, fault := json.Marshal(r.tree)
		if fault != nil {
			break
		}
		if _, err = c.Types.Parse(kind, text, interval); err == nil {
			break
		}
		if !r.caused(err) {
			wrong = append(wrong, r.named(err))
		}
	}
	return rest.Together(wrong...)
}

// samples are values of the members of a type's config that its form shows; of numbers, the least that a
// port or a count can be.
func (c *Checks) samples(kind vigil.CheckType) map[string]any {
	samples := make(map[string]any)
	for _, info := range c.Types.Describe() {
		if info.Type != kind {
			continue
		}
		for _, m := range info.Members {
			switch {
			case m.Input == "number":
				samples[m.Name] = 1
			case m.Sample != "":
				samples[m.Name] = m.Sample
			}
		}
	}
	return samples
}

// repair takes what is wrong out of a config, so that the rest of it can be judged.
type repair struct {
	tree    map[string]any
	samples map[string]any
	mended  []string
	// index has the places in the given config of the elements that each list still has.
	index map[string][]int
}

// mend removes the member of a path. A required one gets the value that its form shows as a sample. It
// reports false when the rest cannot be judged.
func (r *repair) mend(path string) bool {
	rest, ok := strings.CutPrefix(path, "config.")
	name, at, inList := strings.Cut(rest, "[")
	name, _, inside := strings.Cut(name, ".")
	if !ok || name == "" {
		return false
	}
	list, isList := r.tree[name].([]any)
	if number, _, closed := strings.Cut(at, "]"); inList && !inside && closed && isList {
		i, err := strconv.Atoi(number)
		if err != nil || i < 0 || i >= len(list) || name == "steps" { // a step may need what one before it extracts
			return false
		}
		places := r.places(name, len(list))
		r.tree[name], r.index[name] = slices.Delete(list, i, i+1), slices.Delete(places, i, i+1)
		return true
	}
	if _, given := r.tree[name]; given && !slices.Contains(r.mended, name) {
		r.mended = append(r.mended, name)
		delete(r.tree, name)
		return true
	}
	if _, given := r.tree[name]; given || r.samples[name] == nil {
		return false
	}
	r.mended = append(r.mended, name)
	r.tree[name] = r.samples[name]
	return true
}

func (r *repair) places(list string, n int) []int {
	if r.index[list] == nil {
		r.index[list] = make([]int, n)
		for i := range n {
			r.index[list][i] = i
		}
	}
	return r.index[list]
}

// caused reports whether an error says something that is so only since a member was removed: it is about
// that member, or speaks of it.
func (r *repair) caused(err error) bool {
	member := strings.TrimPrefix(memberOf(err), "config.")
	return slices.ContainsFunc(r.mended, func(name string) bool {
		return member == name || strings.HasPrefix(member, name+".") || strings.Contains(vigil.ErrorMessage(err), name)
	})
}

// named returns an error about an element of a list with the place that the element was given at.
func (r *repair) named(err error) error {
	member := memberOf(err)
	rest, _ := strings.CutPrefix(member, "config.")
	name, at, _ := strings.Cut(rest, "[")
	number, tail, _ := strings.Cut(at, "]")
	i, problem := strconv.Atoi(number)
	places := r.index[name]
	if problem != nil || i < 0 || i >= len(places) {
		return err
	}
	return vigil.Invalid("config."+name+"["+strconv.Itoa(places[i])+"]"+tail, "%s",
		strings.TrimPrefix(vigil.ErrorMessage(err), member+": "))
}
