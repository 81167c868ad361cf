// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"slices"

	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// body returns the body that writes an object. A change names also what is left out and
// would stay as it is otherwise.
func (s *shape) body(from sources, change bool) map[string]any {
	body := map[string]any{}
	members := field{Form: formObject}
	for _, one := range s.root.Members {
		if one.JSON != "" && !one.readOnly() && one.Name != labelsName {
			members.Members = append(members.Members, one)
		}
	}
	members.encodeMembers(body, from)
	for _, one := range members.Members {
		_, has := body[one.JSON]
		if !change || has || one.Required || one.Kept || one.Type != "" {
			continue
		}
		switch {
		case one.Nullable:
			body[one.JSON] = nil
		case one.hasDefault():
			body[one.JSON] = map[string]any{}
		case one.Form != formObject:
			body[one.JSON] = one.Default
		}
	}
	for _, name := range []string{managedName, allName} {
		if !s.has(name) {
			continue
		}
		one := s.member(name)
		if value, ok := one.encode(from.member(name)); ok && name == allName {
			body[labelsName] = value
		} else if ok {
			body[managedName] = value
		}
	}
	return body
}

// state returns the state for an object of the API. Prior is the state before or the plan.
func (s *shape) state(a *api, got map[string]any, prior tftypes.Value, imported bool) tftypes.Value {
	before := partsOf(prior)
	parts := map[string]tftypes.Value{}
	r := reading{Import: imported}
	members := field{Form: formObject}
	for _, one := range s.root.Members {
		if one.JSON != "" && one.Name != labelsName && one.Name != managedName {
			members.Members = append(members.Members, one)
		}
	}
	for name, value := range members.decodeMembers(r, got, prior) {
		parts[name] = value
	}
	for _, one := range s.root.Members {
		switch one.Name {
		case idName, parentName, typeName:
			parts[one.Name] = text(plain(got[one.Name]))
		case revisionName:
			parts[one.Name] = one.decode(r, got[one.Name], one.null())
		case managedName:
			parts[one.Name] = one.decode(reading{Import: true}, got[one.Name], one.null())
		case labelsName:
			parts[one.Name] = s.ownLabels(a, one, got[labelsName], before[labelsName])
		case allName:
			parts[one.Name] = one.decode(reading{Import: true}, got[labelsName], one.null())
		case keyName:
			if s.Managed {
				parts[one.Name] = s.stateKey(got, before[keyName])
			}
		case s.Secret:
			parts[one.Name] = secretOf(one, got, before)
		}
	}
	return s.object(parts)
}

// secretOf returns what the answer of a create alone has, and the state keeps.
func secretOf(f *field, got map[string]any, before map[string]tftypes.Value) tftypes.Value {
	if got[f.Name] != nil {
		return text(plain(got[f.Name]))
	}
	if value := before[f.Name]; value.Type() != nil && value.IsKnown() {
		return value
	}
	return f.null()
}

// stateKey returns the attribute key: what the object has, where the configuration gives one.
func (s *shape) stateKey(got map[string]any, before tftypes.Value) tftypes.Value {
	by, _ := got[managedName].(map[string]any)
	if !known(before) || by == nil {
		return tftypes.NewValue(tftypes.String, nil)
	}
	return text(plain(by[keyName]))
}

// ownLabels returns the labels of the API without the provider's, unless the resource has
// them too.
func (s *shape) ownLabels(a *api, f *field, got any, before tftypes.Value) tftypes.Value {
	labels, _ := got.(map[string]any)
	mine := partsOf(before)
	own := map[string]any{}
	for name, value := range labels {
		_, both := mine[name]
		if byDefault, is := a.labels[name]; both || !is || byDefault != value {
			own[name] = value
		}
	}
	if len(own) == 0 && !known(before) {
		return f.null()
	}
	return f.decode(reading{Import: true}, any(own), before)
}

// replaces reports whether the change of a member needs another object.
func (k *kind) replaces(member string) bool { return slices.Contains(k.Replace, member) }
