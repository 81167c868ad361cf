// SPDX-License-Identifier: Apache-2.0

package web

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil/client"
)

// lateLine is an incident that would have been, had the results of an agent come in time.
type lateLine struct {
	Rule, Href string
	Began      stamp
	Lasted     string // empty: it was not over with the newest result
	Regions    string
	Found      stamp
}

// readLate reads the newest five incidents that would have been.
func (r *request) readLate(ctx context.Context, id uuid.UUID, d *checkData) error {
	limit := int64(5)
	got, err := r.api.ListLateIncidentsWithResponse(ctx, id, &client.ListLateIncidentsParams{Limit: &limit})
	return keep(err, func() { d.late = got.JSON200.Data })
}

// lateLines show them.
func (r *request) lateLines(d *checkData) []lateLine {
	lines := make([]lateLine, len(d.late))
	for i := range d.late {
		one := &d.late[i]
		lines[i] = lateLine{
			Rule: one.RuleName, Href: "/app/checks/" + d.check.Id.String() + "/rules/" + one.RuleId.String(),
			Began: r.stamp(one.StartedAt), Regions: r.cityList(one.Regions), Found: r.stamp(one.FoundAt),
		}
		if one.EndedAt != nil {
			lines[i].Lasted = spanExact(one.EndedAt.Sub(one.StartedAt).Round(time.Second))
		}
	}
	return lines
}
