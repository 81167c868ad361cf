// SPDX-License-Identifier: Apache-2.0

package web

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/client"
)

// regionNames knows the cities of the regions, as people read them.
type regionNames struct {
	now func() time.Time

	mu    sync.Mutex
	read  time.Time
	known map[string]client.Region
}

// regionsTTL is how long the list of regions is kept. Its names never change; which
// regions are online does.
const regionsTTL = 5 * time.Second

// all returns the regions by their key.
func (n *regionNames) all(ctx context.Context, api *client.ClientWithResponses) (map[string]client.Region, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.known != nil && n.now().Sub(n.read) < regionsTTL {
		return n.known, nil
	}
	known := make(map[string]client.Region)
	limit := int64(100)
	list, err := api.ListRegionsWithResponse(ctx, &client.ListRegionsParams{Limit: &limit})
	if err != nil {
		return nil, err
	}
	for _, region := range list.JSON200.Data {
		known[region.Key] = region
	}
	n.known, n.read = known, n.now()
	return known, nil
}

// locationNames returns the names of the organization's locations, by key, which are read once for a
// request. Where they cannot be read, it has none.
func (r *request) locationNames() map[string]string {
	if r.locations == nil {
		return nil
	}
	return r.locations()
}

// readNames returns a function for the field locations of a request.
func (r *request) readNames() func() map[string]string {
	return sync.OnceValue(func() map[string]string {
		names := make(map[string]string)
		if all, err := r.readLocations(); err == nil {
			for i := range all {
				names[all[i].Key] = all[i].Name
			}
		}
		return names
	})
}

// heartbeatPlace is the name of the region of heartbeats, which is no city.
const heartbeatPlace = "Heartbeat"

// city returns the city of a region, the name of a location, and the key of one that is not known.
func (r *request) city(key string) string {
	if vigil.IsLocation(key) {
		if name := r.locationNames()[key]; name != "" {
			return name
		}
		return key
	}
	if key == kindHeartbeat {
		return heartbeatPlace
	}
	known, err := r.s.regions.all(r.Context(), r.api)
	if err != nil || known[key].City == "" {
		return key
	}
	return known[key].City
}

// cities returns the cities of regions, in their order.
func (r *request) cities(keys []string) []string {
	names := make([]string, len(keys))
	for i, key := range keys {
		names[i] = r.city(key)
	}
	return names
}

// cityList writes regions in a row of a table: Frankfurt, Singapore.
func (r *request) cityList(keys []string) string { return strings.Join(r.cities(keys), ", ") }
