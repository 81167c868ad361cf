// SPDX-License-Identifier: Apache-2.0

package web

import (
	"slices"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil/client"
)

// idsAtOnce is how many checks a request for some of them may name.
const idsAtOnce = 100

// checksByID reads the checks of ids that a form named, by their ids. Those that do not exist
// are missing.
func (r *request) checksByID(ids []string) (map[string]*client.Check, error) {
	known := make([]string, 0, len(ids))
	for _, id := range ids {
		if parsed, err := uuid.Parse(id); err == nil && parsed.String() == id {
			known = append(known, id)
		}
	}
	slices.Sort(known)
	found, limit := make(map[string]*client.Check, len(known)), int64(idsAtOnce)
	for some := range slices.Chunk(slices.Compact(known), idsAtOnce) {
		list, err := r.api.ListChecksWithResponse(r.Context(), &client.ListChecksParams{Id: &some, Limit: &limit})
		if err != nil {
			return nil, err
		}
		for k := range list.JSON200.Data {
			check := &list.JSON200.Data[k]
			found[check.Id.String()] = check
		}
	}
	return found, nil
}
