package api

import (
	"context"
	"fmt"
	"slices"

	"vigil"
	"vigil/api/rest"
)

// answerWritten shows a check that was changed, with what may surprise in the regions in which
// it begins to be probed.
func (c *checks) answerWritten(ctx context.Context, before, check vigil.Check) (*rest.Answer[checkView], error) {
	answer, err := c.answer(ctx, check)
	if err == nil {
		answer.Body.Data.Warnings = regionWarnings(before, check, c.liveRegions(ctx))
	}
	return answer, err
}

// liveRegions returns the regions that have a worker, and the types that it cannot run there;
// nil where they cannot be read: a check is stored all the same, and what it may lack can be
// read later.
func (c *checks) liveRegions(ctx context.Context) map[string][]vigil.CheckType {
	live, err := c.store.LiveRegions(ctx, leaseSilence)
	if err != nil {
		return nil
	}
	return live
}

// regionWarnings says in which regions that a check did not have before no worker can probe it
// now.
func regionWarnings(before, check vigil.Check, live map[string][]vigil.CheckType) []string {
	if live == nil || !check.Enabled {
		return nil
	}
	var warnings []string
	for _, region := range check.Regions {
		if before.Enabled && slices.Contains(before.Regions, region) {
			continue
		}
		unavailable, online := live[region]
		switch {
		case !online:
			warnings = append(warnings, fmt.Sprintf(
				"regions: %s has no worker, so the check is not probed from there until one runs. See %s.", region, regionsPath))
		case slices.Contains(unavailable, check.Type):
			warnings = append(warnings, fmt.Sprintf(
				"regions: a worker of %s cannot run checks of the type %s, so results from there may be missing. See %s.",
				region, check.Type, regionsPath))
		}
	}
	return warnings
}
