// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/storage"
)

// ResultsList are the databases that keep results alone: at most one for all, and one for a region. None: results are in the
// database of the platform.
type ResultsList []storage.ResultsDatabase

// UnmarshalText reads the address of the database for all results.
func (l *ResultsList) UnmarshalText(text []byte) error {
	*l = ResultsList{{DSN: string(text)}}
	return nil
}

// resultsOfRegion begins the variables with the databases for the results of a region.
const resultsOfRegion = "VIGIL_RESULTS_DATABASE_URL_"

// addRegions adds the databases for the results of a region. The error names the variable of a region that there is not.
func (l *ResultsList) addRegions(given map[string]string) error {
	var names []string
	for name, value := range given {
		if strings.HasPrefix(name, resultsOfRegion) && value != "" {
			names = append(names, name)
		}
	}
	slices.Sort(names) // errors in one order
	var errs []error
	for _, name := range names {
		key := strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(name, resultsOfRegion), "_", "-"))
		if region, known := vigil.RegionByKey(key); known {
			key = region.Key
		} else if !vigil.IsLocation(key) {
			errs = append(errs, fmt.Errorf("%s names no region: its end must be a location's key, such as LOC_OFFICE, or one of %s",
				name, strings.ToUpper(strings.ReplaceAll(strings.Join(vigil.RegionKeys(), ", "), "-", "_"))))
			continue
		}
		if slices.ContainsFunc(*l, func(one storage.ResultsDatabase) bool { return one.Region == key }) {
			errs = append(errs, fmt.Errorf("%s names the region %s, which another variable names too", name, key))
			continue
		}
		*l = append(*l, storage.ResultsDatabase{Region: key, DSN: given[name]})
	}
	return errors.Join(errs...)
}

// missingResults returns how reads say which results they lack; nil where all are in the database of the platform.
func (p *Platform) missingResults() func(context.Context) (context.Context, func() []string) {
	if len(p.settings.ResultsDatabases) == 0 {
		return nil
	}
	return func(ctx context.Context) (context.Context, func() []string) {
		ctx, missing := storage.WithMissing(ctx)
		return ctx, missing.Regions
	}
}
