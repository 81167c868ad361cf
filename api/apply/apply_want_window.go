// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"maps"
	"time"

	"github.com/vigil-monitor/vigil/api/checks"
	"github.com/vigil-monitor/vigil/internal/maintenance"
	"github.com/vigil-monitor/vigil/internal/project"
)

func (d *decider) wantWindow(w *project.Wanted) error {
	id, exists := d.stored.own[project.KindMaintenance][w.Key]
	d.ids[project.KindMaintenance][w.Key] = id
	after := checks.NewMaintenance(d.caller().Org.ID)
	var before *maintenance.Window
	if exists {
		before = d.stored.windows[id]
		after.ID, after.Version, after.AppliedVersion = before.ID, before.Version, before.AppliedVersion
		after.CreatedAt, after.UpdatedAt = before.CreatedAt, before.UpdatedAt
		// How long ago a start may be matters only when it changes.
		after.StartsAt, after.Enabled = before.StartsAt, before.Enabled
	} else {
		var err error
		if after.ID, err = d.newID(project.KindMaintenance, w.Key); err != nil {
			return err
		}
	}
	count := len(d.problems)
	given := w.Members
	w.Members = maps.Clone(given)
	if scope, ok := given["scope"].(map[string]any); ok {
		w.Members["scope"] = d.namedChecks(w.Path()+".scope", scope)
	}
	var in checks.MaintenanceWindowCreate
	usable := len(d.problems) == count && d.read(w, &in)
	w.Members = given
	if !usable {
		return nil
	}
	if err := in.Change(&after, d.applies.checks.Now()); err != nil {
		d.fault(w.Path(), err)
		return nil
	}
	after.ManagedBy = d.managed(w.Key)
	item := func(m *maintenance.Window) *project.Item { return d.windowItem(m, w.Key) }
	pairChange(d, &d.changes.Windows, before, &after, item, disabledNote(after.Enabled, in.Enabled.Given))
	return nil
}

// namedReferences returns the references to checks of a scope or a selector.
func namedReferences(scope any) []string {
	members, _ := scope.(map[string]any)
	found := texts(members["checks"])
	for _, id := range texts(members["check_ids"]) {
		found = append(found, "id:"+id)
	}
	return found
}

func (d *decider) windowItem(w *maintenance.Window, key string) *project.Item {
	checks := make([]any, len(w.Scope.CheckIDs))
	for i, id := range w.Scope.CheckIDs {
		checks[i] = d.label(project.KindCheck, id)
	}
	until := any(nil)
	if w.Until != nil {
		until = maintenance.FormatWallTime(*w.Until)
	}
	return &project.Item{
		Kind: project.KindMaintenance, Key: key, ID: w.ID, Name: w.Name, Version: w.Version, Applied: w.AppliedVersion,
		Members: project.Members{
			"name":  w.Name,
			"scope": map[string]any{"checks": checks, "labels": textTree(w.Scope.Labels), "all": w.Scope.All},
			"starts_at": maintenance.FormatWallTime(
				w.StartsAt,
			),
			"timezone": w.Timezone,
			"duration": project.FormatSeconds(int64(w.Duration / time.Second)),
			"rrule":    w.RRule,
			"cron":     w.Cron,
			"until":    until,
			"probing":  string(w.Probing),
			"uptime":   string(w.Uptime),
			"enabled":  w.Enabled,
		},
	}
}
