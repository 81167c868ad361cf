// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"context"
	"fmt"
	"slices"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/api/resource"
	"github.com/vigil-monitor/vigil/api/rest"
)

// LiveRegions are the regions that have a worker now, each with the types that one of its
// workers cannot run. It is nil where that cannot be read: a check is stored all the same, and
// what it may lack can be read later.
type LiveRegions map[string][]vigil.CheckType

// LiveRegions returns the regions that have a worker now, nil where that cannot be read.
func (c *Checks) LiveRegions(ctx context.Context) LiveRegions {
	live, err := c.store.LiveRegions(ctx, resource.LeaseSilence)
	if err != nil {
		return nil
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
	var missing, unable []string
	for _, region := range check.Regions {
		if before.Enabled && before.Type == check.Type && slices.Contains(before.Regions, region) {
			continue
		}
		unavailable, online := l[region]
		switch {
		case !online:
			missing = append(missing, region)
		case slices.Contains(unavailable, check.Type):
			unable = append(unable, region)
		}
	}
	var warnings []string
	if len(missing) > 0 {
		have := "has"
		if len(missing) > 1 {
			have = "have"
		}
		warnings = append(warnings, fmt.Sprintf(
			"regions: %s %s no worker, so the check is not probed from there until one runs. See %s.",
			vigil.JoinWords(missing), have, regionsPath))
	}
	if len(unable) > 0 {
		warnings = append(warnings, fmt.Sprintf(
			"regions: a worker of %s cannot run checks of the type %s, so results from there may be missing. See %s.",
			vigil.JoinWords(unable), check.Type, regionsPath))
	}
	return warnings
}
