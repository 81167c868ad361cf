// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/api/rest"
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/internal/location"
)

// placeStore knows the locations of organizations.
type placeStore interface {
	LocationNames(ctx context.Context, orgID uuid.UUID) (location.Names, error)
}

// Places resolves the names of regions for an organization: the regions of the platform, and the locations
// of the organization, which are read when they are first needed.
type Places struct {
	names func() (location.Names, error)
}

// placesOf returns the places of the caller's organization.
func placesOf(ctx context.Context, store placeStore) *Places {
	return PlacesOf(func() (location.Names, error) { return store.LocationNames(ctx, rest.CallerOf(ctx).Org.ID) })
}

// PlacesOf returns the places of an organization whose locations read returns.
func PlacesOf(read func() (location.Names, error)) *Places {
	return &Places{names: sync.OnceValues(read)}
}

// Places returns those of the caller's organization.
func (c *Checks) Places(ctx context.Context) *Places { return placesOf(ctx, c.store) }

// key returns the key of the region that a member names by its key or an alias.
func (p *Places) key(member, name string) (string, error) {
	if !vigil.IsLocation(name) {
		if region, ok := vigil.RegionByKey(name); ok {
			return region.Key, nil
		}
	}
	names, err := p.names()
	if err != nil {
		return "", err
	}
	if _, known := names[name]; known {
		return name, nil
	}
	return "", location.UnknownRegion(member, names)
}

// filterKey is key for a filter, which may also name the region of heartbeats.
func (p *Places) filterKey(member, name string) (string, error) {
	if name == vigil.HeartbeatRegion {
		return name, nil
	}
	return p.key(member, name)
}

// resolve turns keys and aliases into keys, each once, in their order. That a check of another type has no
// heartbeats is decided where its type is known.
func (p *Places) resolve(names []string) ([]string, error) {
	if len(names) == 0 {
		return nil, vigil.Invalid("regions", "must name at least one region")
	}
	keys := make([]string, 0, len(names))
	for i, name := range names {
		key, err := p.filterKey(regionMember(i), name)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	return keys, nil
}

func regionMember(i int) string { return "regions[" + strconv.Itoa(i) + "]" }

// probed is resolve without the region of heartbeats.
func (p *Places) probed(names []string) ([]string, error) {
	keys, err := p.resolve(names)
	if i := slices.Index(names, vigil.HeartbeatRegion); err == nil && i >= 0 {
		known, err := p.names()
		if err != nil {
			return nil, err
		}
		return nil, location.UnknownRegion(regionMember(i), known)
	}
	return keys, err
}

// RegionsOf returns the keys of regions that are named by key or alias, each once. One that is
// not known, or that the plan does not include, is refused, and so is a location: what runs in these regions is
// the platform's own, which agents do not probe.
func RegionsOf(names []string, plan account.Plan) ([]string, error) {
	for i, name := range names {
		if vigil.IsLocation(name) {
			return nil, vigil.Invalid(regionMember(i), "must be a region of the platform: drills do not run at locations")
		}
	}
	keys, err := PlacesOf(func() (location.Names, error) { return nil, nil }).probed(names)
	if err != nil {
		return nil, err
	}
	return keys, permitRegions(keys, plan)
}

// permitRegions refuses regions that the plan does not include. Every plan includes the organization's own
// locations.
func permitRegions(keys []string, plan account.Plan) error {
	for _, key := range keys {
		if err := permitRegion("regions", key, plan); err != nil {
			return err
		}
	}
	if len(keys) > plan.RegionsPerCheck {
		return errRegionPlan("regions", "the "+string(plan.Tier)+" tier may use "+rest.Counted(plan.RegionsPerCheck, "region")+" per check")
	}
	return nil
}

func permitRegion(member, key string, plan account.Plan) error {
	if !plan.PrimaryOnly || vigil.IsLocation(key) {
		return nil
	}
	if region, ok := vigil.RegionByKey(key); !ok || !region.Primary {
		return errRegionPlan(member, "the "+string(plan.Tier)+" tier may use the primary regions and its own locations only")
	}
	return nil
}

// errRegionPlan lists what the tier may use.
func errRegionPlan(member, problem string) error {
	var keys []string
	for _, region := range vigil.Regions() {
		if region.Primary {
			keys = append(keys, region.Key)
		}
	}
	err := vigil.Invalid(member, "%s; the allowed regions are %s", problem, strings.Join(keys, ", "))
	err.Details["allowed_regions"] = keys
	return err
}
