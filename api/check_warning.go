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
		answer.Body.Data.Warnings = c.regionWarnings(ctx, before, check)
	}
	return answer, err
}

// regionWarnings says in which regions that a check did not have before no worker can probe it
// now. It says nothing where that cannot be read: a check is stored all the same, and what it
// may lack can be read later.
func (c *checks) regionWarnings(ctx context.Context, before, check vigil.Check) []string {
	regions := slices.Clone(check.Regions)
	if before.Enabled {
		regions = slices.DeleteFunc(regions, func(region string) bool { return slices.Contains(before.Regions, region) })
	}
	if !check.Enabled || len(regions) == 0 {
		return nil
	}
	live, err := c.store.LiveRegions(ctx, leaseSilence)
	if err != nil {
		return nil
	}
	var warnings []string
	for _, region := range regions {
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
