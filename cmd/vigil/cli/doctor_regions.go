// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"net/http"
	"slices"
	"sync"

	"github.com/vigil-monitor/vigil/client"
	"github.com/vigil-monitor/vigil/internal/doctor"
)

// usedRegions asks which regions no worker serves although checks use them, and where
// checks of type ping cannot run.
func (a *afar) usedRegions(ctx context.Context) ([]doctor.Finding, error) {
	all, err := a.regions(ctx)
	if err != nil {
		return nil, err
	}
	judged := doctor.Regions{All: len(all.data), Uses: map[string]int64{}, ClockDifferences: map[string]float64{}, Instance: a.dataDir != ""}
	var silent []string // online regions whose workers cannot ping
	for _, region := range all.data {
		switch {
		case region.Status == client.RegionStatusOffline:
			judged.Offline = append(judged.Offline, region.Key)
		case slices.Contains(region.UnavailableTypes, string(client.CheckTypePing)):
			silent = append(silent, region.Key)
		}
		if region.ClockDifferenceSeconds != nil {
			judged.ClockDifferences[region.Key] = *region.ClockDifferenceSeconds
		}
		if region.BlindSince != nil {
			judged.Blind = append(judged.Blind, region.Key)
		}
	}
	if err := a.countUses(ctx, judged.Offline, judged.Uses); err != nil {
		return nil, err
	}
	if len(silent) > 0 {
		pings, err := a.checks(ctx, &client.ListChecksParams{Enabled: new(true), Type: new(string(client.CheckTypePing))}, unlimited)
		if err != nil {
			return nil, err
		}
		for _, region := range silent {
			if slices.ContainsFunc(pings.data, func(c client.Check) bool { return slices.Contains(c.Regions, region) }) {
				judged.Unpingable = append(judged.Unpingable, region)
			}
		}
	}
	return judged.Judge(), nil
}

// requestsAtOnce is how many requests doctor has under way to count the checks of regions.
const requestsAtOnce = 4

// countUses counts the enabled checks of regions, with as few requests as it takes: the
// checks themselves, or one request for each region when there are more pages than regions.
func (a *afar) countUses(ctx context.Context, regions []string, uses map[string]int64) error {
	if len(regions) == 0 {
		return nil
	}
	most := pageSize * len(regions)
	checks, err := a.checks(ctx, &client.ListChecksParams{Enabled: new(true)}, min(most, maxScan))
	if err != nil {
		return err
	}
	if !checks.more {
		for _, check := range checks.data {
			for _, region := range check.Regions {
				if slices.Contains(regions, region) {
					uses[region]++
				}
			}
		}
		return nil
	}
	var wait sync.WaitGroup
	var mu sync.Mutex
	places := make(chan struct{}, requestsAtOnce)
	for _, region := range regions {
		wait.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			n, countErr := a.countChecks(ctx, region)
			mu.Lock()
			defer mu.Unlock()
			uses[region] = n
			if countErr != nil {
				err = countErr
			}
		})
	}
	wait.Wait()
	return err
}

// countChecks counts the enabled checks of a region.
func (a *afar) countChecks(ctx context.Context, region string) (int64, error) {
	one, err := list[named](a.session, 1, func(page client.RequestEditorFn) (*http.Response, error) {
		return a.api.ListChecks(ctx, &client.ListChecksParams{Enabled: new(true), Region: &region}, page)
	})
	return one.total, err
}
