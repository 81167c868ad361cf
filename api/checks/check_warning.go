// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/api/resource"
	"github.com/vigil-monitor/vigil/api/rest"
)

// LiveRegions are the regions that have a worker now, and the locations of an organization that have an
// agent, each with the types that one of its workers, or all of its agents, cannot run. It is nil where
// that cannot be read: a check is stored all the same, and what it may lack can be read later.
type LiveRegions map[string][]vigil.CheckType

// LiveRegions returns the regions and the caller's locations from which checks are probed now, nil where that
// cannot be read.
func (c *Checks) LiveRegions(ctx context.Context) LiveRegions {
	regions, err := c.store.LiveRegions(ctx, resource.LeaseSilence)
	if err != nil {
		return nil
	}
	locations, err := c.store.LiveLocations(ctx, rest.CallerOf(ctx).Org.ID)
	if err != nil {
		return nil
	}
	live := maps.Clone(regions)
	if err := probedBy(ctx, c.store, c.Types, live); err != nil {
		return nil
	}
	for key, able := range locations {
		live[key] = slices.DeleteFunc(slices.Clone(c.Types.Types()), func(t vigil.CheckType) bool { return slices.Contains(able, t) })
	}
	return live
}

// answerWritten shows a check that was changed, with what may surprise in the regions in which
// it begins to be probed.
func (c *Checks) answerWritten(ctx context.Context, before, check vigil.Check) (*rest.Answer[checkView], error) {
	answer, err := c.answer(ctx, check)
	if err == nil {
		answer.Body.Data.Warnings = c.LiveRegions(ctx).Warnings(&before, &check)
	}
	return answer, err
}

// Warnings says in which regions that a check did not have before, or not for its type, no
// worker can probe it now. A check that is made has none before; one that is disabled is
// probed from none.
func (l LiveRegions) Warnings(before, check *vigil.Check) []string {
	if l == nil || !check.Enabled {
		return nil
	}
	var missing, silent, unable, incapable []string
	for _, region := range check.Regions {
		if before.Enabled && before.Type == check.Type && slices.Contains(before.Regions, region) {
			continue
		}
		unavailable, online := l[region]
		switch {
		case !online && vigil.IsLocation(region):
			silent = append(silent, region)
		case !online:
			missing = append(missing, region)
		case slices.Contains(unavailable, check.Type) && vigil.IsLocation(region):
			incapable = append(incapable, region)
		case slices.Contains(unavailable, check.Type):
			unable = append(unable, region)
		}
	}
	var warnings []string
	for _, text := range []string{
		warning(missing, "%s "+has(missing)+" no worker, so the check is not probed from there until one runs", regionsPath),
		warning(silent, "no agent reports from %s, so the check is not probed from there until one runs", locationsPath),
		warning(unable, "a worker of %s cannot run checks of the type "+string(check.Type)+", so results from there may be missing", regionsPath),
		warning(incapable, "no agent of %s can run checks of the type "+string(check.Type)+", so it is not probed from there until one can",
			locationsPath),
	} {
		if text != "" {
			warnings = append(warnings, text)
		}
	}
	return warnings
}

func has(regions []string) string {
	if len(regions) > 1 {
		return "have"
	}
	return "has"
}

// warning says something about regions, which %s in the format stands for. It is empty for none.
func warning(regions []string, format, path string) string {
	if len(regions) == 0 {
		return ""
	}
	return "regions: " + fmt.Sprintf(format, vigil.JoinWords(regions)) + ". See " + path + "."
}
