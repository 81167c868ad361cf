// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/api/resource"
	"github.com/vigil-monitor/vigil/api/rest"
	"github.com/vigil-monitor/vigil/internal/account"
)

const (
	// onlineTTL is how long an answer to which regions are online is kept.
	onlineTTL = time.Second
)

// RegionStore knows which regions have a worker, and the check types that each of
// them cannot run.
type RegionStore interface {
	LiveRegions(ctx context.Context, silence time.Duration) (map[string][]vigil.CheckType, error)
	servedStore
	// ClockDifferences returns by how much the clocks of workers are wrong, by region.
	// Regions whose clocks are right are left out.
	ClockDifferences(ctx context.Context, silence time.Duration) (map[string]time.Duration, error)
	// BlindRegions returns since when workers have no line to the internet, by region. Regions
	// whose workers all have one are left out.
	BlindRegions(ctx context.Context, silence time.Duration) (map[string]time.Time, error)
}

type servedStore interface {
	// ServedRegions returns the regions that agents serve instead of a worker, each with the types that its agents
	// can probe, nil for a region from which no agent reports.
	ServedRegions(ctx context.Context) (map[string][]vigil.CheckType, error)
}

// probedBy takes what agents can probe for the regions that they serve: one from which no agent reports is not
// live, although a worker keeps its results. It changes live, which has the types that a region cannot run.
func probedBy(ctx context.Context, store servedStore, types resource.CheckTypes, live map[string][]vigil.CheckType) error {
	served, err := store.ServedRegions(ctx)
	if err != nil {
		return err
	}
	for key, able := range served {
		if _, kept := live[key]; !kept || able == nil {
			delete(live, key)
			continue
		}
		live[key] = slices.DeleteFunc(slices.Clone(types.Types()), func(t vigil.CheckType) bool { return slices.Contains(able, t) })
	}
	return nil
}

type regions struct {
	store  RegionStore
	types  resource.CheckTypes
	states *resource.Cache[regionStates]
}

// regionStates are what the workers of regions report. online has the regions with a
// worker.
type regionStates struct {
	online map[string][]vigil.CheckType
	clocks map[string]time.Duration
	blind  map[string]time.Time
}

// regionsPath is where callers find the regions, and locationsPath the locations.
const (
	regionsPath   = "/v1/regions"
	locationsPath = "/v1/locations"
)

func newRegions(store RegionStore, types resource.CheckTypes, now func() time.Time) *regions {
	return &regions{store: store, types: types, states: resource.NewCache[regionStates](onlineTTL, 1, now)}
}

// regionView is a Region (spec section 2).
type regionView struct {
	Key              string            `json:"key" example:"na-east-ewr"`
	Name             string            `json:"name" example:"Newark, USA"`
	City             string            `json:"city" example:"Newark"`
	Country          string            `json:"country" example:"United States"`
	CountryCode      string            `json:"country_code" example:"US"`
	Continent        string            `json:"continent" example:"North America"`
	AirportCode      string            `json:"airport_code" example:"EWR"`
	Latitude         float64           `json:"latitude" example:"40.7357"`
	Longitude        float64           `json:"longitude" example:"-74.1724"`
	Primary          bool              `json:"primary" doc:"Whether the region is open to every tier."`
	Tiers            []account.Tier    `json:"tiers" enum:"free,paid,enterprise" doc:"The tiers that may use the region."`
	Status           string            `json:"status" enum:"online,offline" doc:"Whether the region is probed now: by a worker, or by agents that report."`
	Aliases          []string          `json:"aliases" doc:"Cloud providers' names that are accepted for the region."`
	UnavailableTypes []vigil.CheckType `json:"unavailable_types" doc:"Check types that the region cannot run right now, such as ping where a machine forbids ICMP. Such checks are accepted; while it is so their executions are missed, never failed."`
	ClockDifference  *float64          `json:"clock_difference_seconds" nullable:"true" doc:"By how many seconds the clock of a worker of the region is ahead of the database's, negative when it is behind; the largest difference of its workers. Null while all are within 2 seconds. A worker that is wrong by more than 30 seconds does not probe, and a region without another one is offline."`
	BlindSince       *time.Time        `json:"blind_since" nullable:"true" doc:"Since when a worker of the region has no line to the internet: none of its canaries answers, although one did lately. Meanwhile failures of public targets are missed slots there. Null while all workers have one."`
}

func (g *regions) Register(r *rest.Registrar) {
	rest.Register(r, rest.Operation{
		Method: http.MethodGet, Path: regionsPath, ID: "list-regions", Tag: resource.TagSystem, Open: true,
		Summary: "List the regions that checks can run in",
	}, g.listRegions)
}

func (g *regions) listRegions(ctx context.Context, in *struct{ rest.PageQuery }) (*rest.Listing[regionView], error) {
	states, err := g.states.Get(ctx, "", func(ctx context.Context) (states regionStates, err error) {
		if states.online, err = g.store.LiveRegions(ctx, resource.LeaseSilence); err == nil {
			err = probedBy(ctx, g.store, g.types, states.online)
		}
		if err == nil {
			states.clocks, err = g.store.ClockDifferences(ctx, resource.LeaseSilence)
		}
		if err == nil {
			states.blind, err = g.store.BlindRegions(ctx, resource.LeaseSilence)
		}
		return states, err
	})
	if err != nil {
		return nil, err
	}
	regions := vigil.Regions()
	return rest.NewListing(rest.Cut(regions, in.Page()), len(regions), states.show), nil
}

func (s regionStates) show(r vigil.Region) regionView {
	unavailable, online := s.online[r.Key]
	view := regionView{
		Key: r.Key, Name: r.Name, City: r.City, Country: r.Country, CountryCode: r.CountryCode, Continent: r.Continent,
		AirportCode: r.AirportCode, Latitude: r.Latitude, Longitude: r.Longitude, Primary: r.Primary,
		Tiers: []account.Tier{account.TierPaid, account.TierEnterprise}, Status: "offline", Aliases: append([]string{}, r.Aliases...),
		UnavailableTypes: append([]vigil.CheckType{}, unavailable...),
	}
	if r.Primary {
		view.Tiers = append([]account.Tier{account.TierFree}, view.Tiers...)
	}
	if online {
		view.Status = "online"
	}
	if difference, wrong := s.clocks[r.Key]; wrong {
		seconds := difference.Seconds()
		view.ClockDifference = &seconds
	}
	if since, blind := s.blind[r.Key]; blind {
		view.BlindSince = new(since.UTC())
	}
	return view
}
