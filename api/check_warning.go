package api

import (
	"context"
	"fmt"
	"slices"

	"vigil"
	"vigil/api/rest"
)

// answerWritten shows a check that was created or changed, with what may surprise in the
// regions in which it begins to be probed.
func (c *checks) answerWritten(ctx context.Context, before, check vigil.Check) (*rest.Answer[checkView], error) {
	answer, err := c.answer(ctx, check)
	if err != nil || !check.Enabled {
		return answer, err
	}
	if before.Enabled {
		check.Regions = slices.DeleteFunc(
			slices.Clone(check.Regions),
			func(region string) bool { return slices.Contains(before.Regions, region) },
		)
	}
	if len(check.Regions) == 0 {
		return answer, nil
	}
	live, err := c.store.LiveRegions(ctx, leaseSilence)
	if err != nil {
		return answer, nil //nolint:nilerr // the check is stored; what it may lack can be read later
	}
	answer.Body.Data.Warnings = regionWarnings(&check, live)
	return answer, nil
}

// regionWarnings says in which regions of a check no worker can probe it now.
func regionWarnings(check *vigil.Check, live map[string][]vigil.CheckType) []string {
	var warnings []string
	for _, region := range check.Regions {
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
