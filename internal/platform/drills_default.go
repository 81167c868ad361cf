// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"context"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/demo"
	"github.com/vigil-monitor/vigil/internal/drills"
)

// When the drills of the schedule by default run: on a day and at an hour that somebody sees them.
const (
	defaultDrillDay  = 1
	defaultDrillHour = 9
)

// defaultDrills returns the schedule of drills that the operator has by default, in a region that this
// process serves: elsewhere each drill would fail.
func defaultDrills(regions []string, zone string) *drills.Defaults {
	d := &drills.Defaults{
		Name:       "Monthly drill",
		Recurrence: drills.Recurrence{Every: drills.Monthly, Day: defaultDrillDay, Hour: defaultDrillHour, Timezone: zone},
		Except:     vigil.ManagedBy{Tool: "apply", Project: demo.Project},
	}
	if region, _ := vigil.RegionByKey(vigil.DefaultRegionAlias); !slices.Contains(regions, region.Key) && len(regions) > 0 {
		d.Regions = regions[:1]
	}
	return d
}

// makeDefaultDrills returns what makes the schedule of the operator; nil where there is none by default. Once it
// is settled, nothing is asked any more.
func (p *Platform) makeDefaultDrills() func(ctx context.Context) error {
	if p.defaultDrills == nil {
		return nil
	}
	var settled atomic.Bool
	region, _ := vigil.RegionByKey(vigil.DefaultRegionAlias)
	return func(ctx context.Context) error {
		if settled.Load() {
			return nil
		}
		is, err := p.store.MakeDefaultDrills(ctx, *p.defaultDrills, region.Key)
		settled.Store(is)
		return err
	}
}

// machineZone returns the IANA name of the machine's time zone; UTC where it has none that is known.
func machineZone() string { return zoneOf(time.Local.String(), "/etc/localtime", "/etc/timezone") }

// zoneOf returns the first name that is one of a zone: that of the process, which TZ sets, that of the file
// that a link leads to, and that in a file.
func zoneOf(process, link, file string) string {
	names := []string{process}
	if target, err := os.Readlink(link); err == nil {
		_, name, _ := strings.Cut(target, "/zoneinfo/")
		names = append(names, name)
	}
	if text, err := os.ReadFile(file); err == nil { //nolint:gosec // a file of the system
		names = append(names, strings.TrimSpace(string(text)))
	}
	for _, name := range names {
		if _, ok := vigil.LoadZone(name); ok {
			return name
		}
	}
	return "UTC"
}
