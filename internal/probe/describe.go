// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"cmp"
	"slices"
	"strings"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/config"
)

// TypeInfo describes a check type: what a form needs to ask for its config, and a command to
// read it from an address. The type says what is below Position, and the registry the rest.
type TypeInfo struct {
	Type vigil.CheckType
	// Members of the config, in the order of its struct.
	Members []MemberInfo
	// Target is the member of the config that an address of one line fills; empty without one.
	Target string

	// Position among the types that people choose from, lowest first; 0: behind those that have one.
	Position int
	// About says what the type looks at, in a few words.
	About string
	// Schemes are those that an address of the target may have, the usual one first; none where
	// the target is no URL.
	Schemes []string
	// Conditions are the keys of a condition that the type's results can match besides those that
	// every type's can.
	Conditions []string
}

// MemberInfo describes a member of a config.
type MemberInfo = config.Field

// Describe returns what is known of all check types, in the order in which people choose them. It is
// made once; a caller may reorder what it gets, and changes nothing in it.
func (r *Registry) Describe() []TypeInfo { return slices.Clone(r.described()) }

func (r *Registry) describe() []TypeInfo {
	all := make([]TypeInfo, 0, len(r.probers))
	for _, t := range r.Types() {
		info := r.probers[t].Describe()
		info.Type = t
		all = append(all, info)
	}
	slices.SortStableFunc(all, func(a, b TypeInfo) int {
		if (a.Position == 0) != (b.Position == 0) {
			return cmp.Compare(b.Position, a.Position)
		}
		return cmp.Compare(a.Position, b.Position)
	})
	for i := range all {
		all[i].describeConfig(r.Config(all[i].Type), all)
	}
	return all
}

// describeConfig describes the members of the config. Steps are of the types in all that can be one.
func (info *TypeInfo) describeConfig(zero any, all []TypeInfo) {
	var others []string
	for _, other := range all {
		if canBeStep(other.Type) {
			others = append(others, string(other.Type))
		}
	}
	info.Members = config.Describe(zero, others)
	at := slices.IndexFunc(info.Members, func(m MemberInfo) bool { return m.Required && m.Input == config.InputText })
	if at < 0 {
		return
	}
	target := &info.Members[at]
	info.Target = target.Name
	if _, rest, ok := strings.Cut(target.Sample, "://"); ok && len(info.Schemes) > 0 {
		target.Sample = info.Schemes[0] + "://" + rest
	}
}
