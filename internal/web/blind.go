// SPDX-License-Identifier: Apache-2.0

package web

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// blindNote says on every page that workers have lost their line to the internet.
type blindNote struct {
	Regions    string // where
	Since, Age stamp
}

// maxBlindCities is how many regions the note names.
const maxBlindCities = 3

// blindNote returns nil when all workers have their line, or that cannot be read.
func (r *request) blindNote() *blindNote {
	known, err := r.s.regions.all(r.Context(), r.api)
	if err != nil {
		return nil
	}
	var cities []string
	var since time.Time
	for _, region := range known {
		if region.BlindSince == nil {
			continue
		}
		cities = append(cities, region.City)
		if since.IsZero() || region.BlindSince.Before(since) {
			since = *region.BlindSince
		}
	}
	if len(cities) == 0 {
		return nil
	}
	slices.Sort(cities)
	text := strings.Join(cities[:min(len(cities), maxBlindCities)], ", ")
	if more := len(cities) - maxBlindCities; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return &blindNote{Regions: text, Since: r.stamp(since), Age: r.ago(since)}
}
