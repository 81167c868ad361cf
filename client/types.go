// SPDX-License-Identifier: Apache-2.0

package client

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// TypeOfScheme returns the type of check that an address with the scheme asks for: the one of that
// name, or else the first whose targets may have it; nil for a scheme that is no type's.
func TypeOfScheme(types []CheckTypeInfo, scheme string) *CheckTypeInfo {
	scheme = strings.ToLower(scheme)
	of := func(is func(t CheckTypeInfo) bool) *CheckTypeInfo {
		if i := slices.IndexFunc(types, is); i >= 0 {
			return &types[i]
		}
		return nil
	}
	if named := of(func(t CheckTypeInfo) bool { return t.Type == scheme }); named != nil {
		return named
	}
	return of(func(t CheckTypeInfo) bool { return slices.Contains(t.Schemes, scheme) })
}

// Locate returns the members of a config that an address says: the address itself where the target
// is a URL, and else its host, and its port where it has one. The text is the address as it was given.
// It is nil for a type without a target.
func (t *CheckTypeInfo) Locate(text string, address *url.URL) map[string]any {
	switch {
	case t.Target == nil:
		return nil
	case len(t.Schemes) == 0:
		config := map[string]any{*t.Target: address.Hostname()}
		if port, err := strconv.Atoi(address.Port()); err == nil {
			config["port"] = port
		}
		return config
	case strings.EqualFold(address.Scheme, t.Type) && !slices.Contains(t.Schemes, t.Type):
		_, rest, _ := strings.Cut(text, ":")
		text = t.Schemes[0] + ":" + rest
	}
	return map[string]any{*t.Target: text}
}

// TargetMember returns the member of a config that says where messages go, and whether a config needs
// it: the last one that the format requires and that is no secret, or else the address that it takes.
// An empty format is the default. It is nil where the secrets say it.
func (t *ChannelType) TargetMember(format string) (member *ChannelMember, required bool) {
	requires, takes := t.taken(format)
	for _, m := range requires {
		if !m.Secret {
			member = m
		}
	}
	if member != nil {
		return member, true
	}
	for _, m := range takes {
		if !m.Secret && (len(t.Formats) == 0 || m.Format != nil && *m.Format == ChannelMemberFormatUri) {
			return m, false
		}
	}
	return nil, false
}

// SecretMember returns the first member of a config that is a secret in a format, the required ones
// first, or else the address, which is one itself where no other member is. It is nil without one.
func (t *ChannelType) SecretMember(format string) *ChannelMember {
	requires, takes := t.taken(format)
	for _, m := range slices.Concat(requires, takes) {
		if m.Secret {
			return m
		}
	}
	if target, _ := t.TargetMember(format); target != nil && target.Format != nil && *target.Format == ChannelMemberFormatUri {
		return target
	}
	return nil
}

// taken are the members that a format requires, and those that it takes besides.
func (t *ChannelType) taken(format string) (requires, takes []*ChannelMember) {
	if len(t.Formats) == 0 {
		for i := range t.Members {
			if m := &t.Members[i]; m.Required {
				requires = append(requires, m)
			} else {
				takes = append(takes, m)
			}
		}
		return requires, takes
	}
	of := &t.Formats[0]
	if i := slices.IndexFunc(t.Formats, func(f ChannelFormat) bool { return f.Format == format }); i >= 0 {
		of = &t.Formats[i]
	}
	named := func(names []string) (members []*ChannelMember) {
		for _, name := range names {
			if i := slices.IndexFunc(t.Members, func(m ChannelMember) bool { return m.Name == name }); i >= 0 {
				members = append(members, &t.Members[i])
			}
		}
		return members
	}
	return named(of.Requires), named(of.Takes)
}
