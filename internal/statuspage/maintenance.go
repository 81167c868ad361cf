// SPDX-License-Identifier: Apache-2.0

package statuspage

import (
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/overview"
)

// maintenance is planned work on services of the page.
type maintenance struct {
	Services string // their public names
	names    []string
	Start    time.Time
	End      time.Time
	When     string
	Running  bool
}

// addMaintenance adds work that runs, or is announced.
func (v *view) addMaintenance(from *overview.PublicMaintenance) {
	one := maintenance{Start: from.StartsAt.UTC(), End: from.EndsAt.UTC(), Running: !from.StartsAt.After(v.At)}
	for _, s := range v.all {
		for _, id := range from.CheckIDs {
			if v.byID[id] == s {
				one.names = append(one.names, s.name)
			}
		}
	}
	if len(one.names) == 0 || !one.End.After(v.At) { // what is over is notified to readers alone
		return
	}
	one.Services = vigil.JoinWords(one.names)
	if len(one.names) == len(v.all) && len(v.all) > 1 {
		one.Services = "All services"
	}
	until := one.End.Format("15:04")
	if !sameDay(one.Start, one.End) {
		until = dateOf(one.End, v.At) + ", " + until
	}
	one.When = clock(one.Start, v.At) + " to " + until + " UTC"
	if one.Running {
		one.When = "until " + clock(one.End, v.At) + " UTC"
	}
	v.Maintenance = append(v.Maintenance, one)
}
