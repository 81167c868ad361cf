// SPDX-License-Identifier: Apache-2.0

package web

import (
	"slices"
	"sync"

	"github.com/vigil-monitor/vigil/client"
)

// checkTypes are the check types of the API, in the order in which people choose them. They are
// never changed.
type checkTypes struct {
	all  []checkType
	list []client.CheckTypeInfo // the same, as the API describes them
}

// checkType is a type of checks: a tile of the form and its fields.
type checkType struct {
	*client.CheckTypeInfo

	members []member
}

// typeCatalog reads the types of checks and channels once: a process answers /v1 with the types
// that it has.
type typeCatalog struct {
	mu       sync.Mutex
	checks   *checkTypes
	channels []client.ChannelType
}

// maxTypes bounds how many types are read.
const maxTypes = 100

// checkTypes returns the check types.
func (r *request) checkTypes() (*checkTypes, error) {
	known := &r.s.types
	known.mu.Lock()
	defer known.mu.Unlock()
	if known.checks == nil {
		list, err := r.api.ListCheckTypesWithResponse(r.Context(), &client.ListCheckTypesParams{Limit: new(int64(maxTypes))})
		if err != nil {
			return nil, err
		}
		known.checks = newCheckTypes(list.JSON200.Data)
	}
	return known.checks, nil
}

// channelTypes returns the channel types. The list is never changed.
func (r *request) channelTypes() ([]client.ChannelType, error) {
	known := &r.s.types
	known.mu.Lock()
	defer known.mu.Unlock()
	if known.channels == nil {
		list, err := r.api.ListChannelTypesWithResponse(r.Context(), &client.ListChannelTypesParams{Limit: new(int64(maxTypes))})
		if err != nil {
			return nil, err
		}
		known.channels = list.JSON200.Data
	}
	return known.channels, nil
}

func newCheckTypes(list []client.CheckTypeInfo) *checkTypes {
	types := &checkTypes{list: list, all: make([]checkType, len(list))}
	for i := range list {
		types.all[i] = checkType{CheckTypeInfo: &list[i], members: types.membersOfAPI(list[i].Members)}
	}
	return types
}

// named returns a type, nil for an unknown one.
func (t *checkTypes) named(name string) *checkType {
	if i := slices.IndexFunc(t.all, func(known checkType) bool { return known.Type == name }); i >= 0 {
		return &t.all[i]
	}
	return nil
}

// first is the type that a new check has unless another one is chosen.
func (t *checkTypes) first() string { return t.all[0].Type }

// members returns the members of a type's config, none for an unknown type.
func (t *checkTypes) members(name string) []member {
	if known := t.named(name); known != nil {
		return known.members
	}
	return nil
}

// alike reports whether configs of two types have the same members.
func (t *checkTypes) alike(one, other string) bool {
	return t.named(one) != nil && t.named(other) != nil &&
		slices.EqualFunc(t.members(one), t.members(other), func(a, b member) bool { return a.name == b.name })
}
