// SPDX-License-Identifier: Apache-2.0

package changes

import (
	"context"
	"slices"
	"strconv"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/location"
	"github.com/vigil-monitor/vigil/internal/project"
	"github.com/vigil-monitor/vigil/storage/agents"
)

// lockLocations refuses checks that name a location which the organization has not, and keeps those
// that are named from being deleted before the edits are stored. A location that a check named before
// need not be locked: it is not deleted while a check names it.
func (e *Edits) lockLocations(ctx context.Context, changes *project.Changes) error {
	var named []string
	for i := range changes.Checks {
		for _, key := range addedLocations(&changes.Checks[i]) {
			if !slices.Contains(named, key) {
				named = append(named, key)
			}
		}
	}
	if len(named) == 0 {
		return nil
	}
	missing, err := agents.RequireKeys(ctx, e.tx, e.orgID, named)
	if err != nil || len(missing) == 0 {
		return err
	}
	names, err := agents.NamesIn(ctx, e.tx, e.orgID)
	if err != nil {
		return err
	}
	return e.refuseLocations(changes, missing, names)
}

// refuseLocations returns the error of the first check that names a location which is missing.
func (e *Edits) refuseLocations(changes *project.Changes, missing []string, names location.Names) error {
	for i := range changes.Checks {
		after := changes.Checks[i].After
		for _, key := range addedLocations(&changes.Checks[i]) {
			if slices.Contains(missing, key) {
				if e.at = after.ID; changes.Checks[i].Before == nil {
					e.at = uuid.Nil // a caller does not know its ID
				}
				return location.UnknownRegion("regions["+strconv.Itoa(slices.Index(after.Regions, key))+"]", names)
			}
		}
	}
	return nil
}

// addedLocations are the locations that an edit adds to the regions of a check.
func addedLocations(edit *project.Edit[vigil.Check]) (keys []string) {
	if edit.After == nil {
		return nil
	}
	for _, region := range edit.After.Regions {
		if vigil.IsLocation(region) && (edit.Before == nil || !slices.Contains(edit.Before.Regions, region)) {
			keys = append(keys, region)
		}
	}
	return keys
}
