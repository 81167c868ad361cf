// SPDX-License-Identifier: Apache-2.0

package importer

import (
	"fmt"
	"slices"
	"strings"

	"github.com/vigil-monitor/vigil/internal/overview"
	"github.com/vigil-monitor/vigil/internal/project"
)

// addPage carries a status page over.
func (k *kumaImport) addPage(row kumaRow) {
	slug := row.line("slug")
	origin := "/status/" + slug
	if !validSlug(slug) {
		k.Miss(project.KindStatusPage, origin, "slug %q is not 1 to 63 lower-case letters, digits and hyphens", slug)
		return
	}
	p := k.Add(project.KindStatusPage, origin, slug)
	p.Set("slug", slug)
	p.Set("title", Name(row.line("title"), slug))
	if !row.flag("published", true) {
		p.Set("enabled", false)
	}
	if !row.flag("search_engine_index", true) {
		p.Set("noindex", true)
	}
	if groups := k.groupsOf(p, row); len(groups) > 0 {
		p.Set("groups", groups)
	}
	k.losePage(p, row)
}

func validSlug(slug string) bool {
	return slug != "" && len(slug) <= 63 && !strings.ContainsFunc(slug, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-'
	}) && slug[0] != '-' && slug[len(slug)-1] != '-'
}

// groupsOf returns the groups of a page in their order. A page shows a check once.
func (k *kumaImport) groupsOf(p *Resource, row kumaRow) []any {
	var groups []any
	var shown []string
	for _, group := range row.below(kumaGroups) {
		name := Name(group.line("name"), "")
		if len(groups) == overview.MaxStatusGroups {
			p.Lose("group "+name, "a page has at most %d groups", overview.MaxStatusGroups)
			continue
		}
		var checks []any
		for _, member := range group.below(kumaMonitors) {
			one := k.publicCheck(p, member, shown)
			if one == nil {
				continue
			}
			key, _ := one.Get("check").(string)
			shown, checks = append(shown, key), append(checks, one)
		}
		if len(checks) == 0 {
			p.Lose("group "+name, "it has no check")
			continue
		}
		groups = append(groups, Object{{"name", name}, {"checks", checks}})
	}
	return groups
}

// publicCheck returns a check of a group with its public name, nil for one that the page
// cannot show.
func (k *kumaImport) publicCheck(p *Resource, member kumaRow, shown []string) Object {
	m := k.monitors[member.id("monitor_id")]
	if m == nil {
		return nil
	}
	name := k.originOf(m)
	c := k.checks[m.id("id")]
	switch {
	case m.line("type") == kumaGroup:
		p.Lose("monitor "+name, "a group has no state of its own; name its checks")
		return nil
	case c == nil:
		p.Lose("monitor "+name, "it is not carried over")
		return nil
	case slices.Contains(shown, c.Key):
		p.Lose("monitor "+name, "a page shows a check once")
		return nil
	case len(shown) == overview.MaxStatusChecks:
		p.Lose("monitor "+name, "a page has at most %d checks", overview.MaxStatusChecks)
		return nil
	}
	if member.flag("send_url", false) || member.line("custom_url") != "" {
		p.Lose("link of "+name, "a page shows no addresses of targets")
	}
	return Object{{"check", c.Key}, {"name", Name(m.line("name"), c.Key)}}
}

// losePage notes what the page has and Vigil's does not.
func (k *kumaImport) losePage(p *Resource, row kumaRow) {
	for _, lost := range []struct {
		column   string
		standard []string
		reason   string
	}{
		{"description", nil, "a page has no text of its own"},
		{"icon", []string{"/icon.svg", `""`}, "a page has no logo"},
		{"theme", []string{"light", "dark", "auto"}, "a page follows the reader's setting"},
		{"show_tags", []string{"0"}, "labels are not public"},
		{"footer_text", nil, "a page has no footer of its own"},
		{"custom_css", nil, "a page has no style sheet of its own"},
		{"google_analytics_tag_id", nil, "a page loads nothing from others"},
		{"analytics_id", nil, "a page loads nothing from others"},
		{"show_certificate_expiry", []string{"0"}, "certificates are not public"},
		{"auto_refresh_interval", []string{"300", "0"}, "a page renews itself"},
		{"rss_title", nil, "the feed has the title of the page"},
	} {
		value := strings.TrimSpace(row.shown(lost.column))
		if value == "" || value == "false" || slices.Contains(lost.standard, value) || lost.column == "custom_css" && value == "body {\n  \n}" {
			continue
		}
		p.Lose(fmt.Sprintf("%s: %s", lost.column, value), "%s", lost.reason)
	}
	if row.line("password") != "" {
		p.Lose("password", "a page is public, or switched off with enabled: false")
	}
	for _, domain := range row.below(kumaDomains) {
		p.Lose("domain "+domain.line("domain"), "a page is served below the address of Vigil")
	}
}
