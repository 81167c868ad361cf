// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"maps"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil/api/checks"
	"github.com/vigil-monitor/vigil/internal/overview"
	"github.com/vigil-monitor/vigil/internal/project"
)

func (d *decider) wantPage(w *project.Wanted) error {
	id, exists := d.stored.own[project.KindStatusPage][w.Key]
	d.ids[project.KindStatusPage][w.Key] = id
	after := overview.StatusPage{OrgID: d.caller().Org.ID, Enabled: true}
	var before *overview.StatusPage
	if exists {
		before = d.stored.pages[id]
		after = *before
		after.NoIndex, after.Groups, after.StatusLooks = false, nil, overview.StatusLooks{}
	} else {
		var err error
		if after.ID, err = d.newID(project.KindStatusPage, w.Key); err != nil {
			return err
		}
	}
	count := len(d.problems)
	given := w.Members
	w.Members = maps.Clone(given)
	if groups, ok := given["groups"].([]any); ok {
		w.Members["groups"] = d.pageGroups(w.Path()+".groups", groups)
	}
	var in checks.StatusPageCreate
	usable := len(d.problems) == count && d.read(w, &in)
	w.Members = given
	if !usable {
		return nil
	}
	if err := in.Change(&after); err != nil {
		d.fault(w.Path(), err)
		return nil
	}
	if other, taken := d.stored.inventory.Slugs[after.Slug]; taken && other != after.ID {
		d.problem(w.Path()+".slug", "%q is taken by another status page; choose another one%s", after.Slug, d.adoptPage(other, w.Key))
	}
	if other, twice := d.slugs[after.Slug]; twice {
		d.problem(w.Path()+".slug", "%q is the slug of %s, too", after.Slug, other)
	}
	d.slugs[after.Slug] = w.Path()
	after.ManagedBy = d.managed(w.Key)
	item := func(p *overview.StatusPage) *project.Item { return d.pageItem(p, w.Key) }
	pairChange(d, &d.changes.Pages, before, &after, item, disabledNote(after.Enabled, in.Enabled.Given))
	return nil
}

// adoptPage is the end of a message about a slug: how to take over the page, where it is one
// of the organization that nothing manages.
func (d *decider) adoptPage(id uuid.UUID, key string) string {
	page := d.stored.pages[id]
	if page == nil || page.ManagedBy != nil {
		return ""
	}
	return ", or take that page over: vigil adopt status-page " + shortID(id) + " --as " + d.body.Project + "/" + key
}

// pageGroups returns the groups of a page as the API has them: with the ids of the checks,
// and with their names where the file gives none.
func (d *decider) pageGroups(path string, groups []any) []any {
	shown := make([]any, len(groups))
	for i, item := range groups {
		group, ok := item.(map[string]any)
		if !ok {
			shown[i] = item // reading says what is wrong
			continue
		}
		group = maps.Clone(group)
		if _, named := group["name"]; !named {
			group["name"] = ""
		}
		if checks, ok := group["checks"].([]any); ok {
			group["checks"] = d.pageChecks(path+"["+strconv.Itoa(i)+"].checks", checks)
		} else if _, given := group["checks"]; !given {
			group["checks"] = []any{}
		}
		shown[i] = group
	}
	return shown
}

func (d *decider) pageChecks(path string, checks []any) []any {
	shown := make([]any, len(checks))
	for i, item := range checks {
		at := path + "[" + strconv.Itoa(i) + "]"
		check, isObject := item.(map[string]any)
		if _, byID := check["check_id"]; byID {
			if text, ok := check["check_id"].(string); ok {
				d.refer(project.KindCheck, "id:"+text, at+".check_id")
			}
			shown[i] = item
			continue
		}
		reference, name := item, any(nil)
		if isObject {
			check = maps.Clone(check)
			reference, name, at = check["check"], check["name"], at+".check"
			delete(check, "check")
		} else {
			check = make(map[string]any)
		}
		id, ok := d.refer(project.KindCheck, reference, at)
		if !ok {
			continue
		}
		if name == nil {
			if known := d.stored.checks[id]; known != nil {
				name = known.Name
			} else {
				name = strings.TrimPrefix(d.label(project.KindCheck, id), "id:") // its own mistake is reported
			}
		}
		check["check_id"], check["name"] = id.String(), name
		shown[i] = check
	}
	return shown
}

// pageReferences returns the references to checks of a page's members.
func pageReferences(members project.Members) []string {
	groups, _ := members["groups"].([]any)
	var found []string
	for _, item := range groups {
		group, _ := item.(map[string]any)
		checks, _ := group["checks"].([]any)
		for _, check := range checks {
			switch check := check.(type) {
			case string:
				found = append(found, check)
			case map[string]any:
				if text, ok := check["check"].(string); ok {
					found = append(found, text)
				}
				if text, ok := check["check_id"].(string); ok {
					found = append(found, "id:"+text)
				}
			}
		}
	}
	return found
}

func (d *decider) pageItem(p *overview.StatusPage, key string) *project.Item {
	groups := make([]any, len(p.Groups))
	for i, group := range p.Groups {
		checks := make([]any, len(group.Checks))
		for j, check := range group.Checks {
			checks[j] = map[string]any{"check": d.label(project.KindCheck, check.CheckID), "name": check.Name}
		}
		groups[i] = map[string]any{"name": group.Name, "checks": checks}
	}
	return &project.Item{
		Kind: project.KindStatusPage, Key: key, ID: p.ID, Name: p.Title, Version: p.Version, Applied: p.AppliedVersion,
		Members: project.Members{
			"slug": p.Slug, "title": p.Title, "noindex": p.NoIndex, "enabled": p.Enabled, "groups": groups,
			"accent": p.Accent, "host": p.Host, "response_times": p.ResponseTimes, "subscriptions": p.Subscriptions,
		},
	}
}
