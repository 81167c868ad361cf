// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"fmt"

	"github.com/danielgtaylor/huma/v2"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/api/resource"
	"github.com/vigil-monitor/vigil/api/rest"
	"github.com/vigil-monitor/vigil/internal/overview"
)

// StatusPageMembers are the members of a status page that can be written. What else a page
// shows may come along and is ignored.
type StatusPageMembers struct {
	Slug          rest.Field[string]            `json:"slug,omitzero" doc:"The last part of the page's address, unique among all organizations: 1 to 63 lower-case letters, digits and hyphens." example:"acme"`
	Title         rest.Field[string]            `json:"title,omitzero" example:"Acme status"`
	Groups        rest.Field[[]statusGroupView] `json:"groups,omitzero" maxItems:"50" doc:"Replaces the checks that the page shows: up to 50 groups with 200 checks in all."`
	NoIndex       rest.Field[bool]              `json:"noindex,omitzero" doc:"Whether search engines are asked to leave the page out. A new page is not left out."`
	Enabled       rest.Field[bool]              `json:"enabled,omitzero" doc:"Whether the public can see the page. A new page is enabled."`
	Accent        rest.Field[string]            `json:"accent,omitzero" maxLength:"7" doc:"The color of links and buttons, such as #3a4cc8. It must stand out from white and, lightened, from the dark background; the message says by how much it fails. Empty: the standard one." example:"#0f5fa8"`
	Host          rest.Field[string]            `json:"host,omitzero" maxLength:"253" doc:"A name of your own under which the page is served at /, once a TXT record shows that it is yours; see POST /v1/status-pages/{id}/host. Empty: none." example:"status.example.com"`
	ResponseTimes rest.Field[bool]              `json:"response_times,omitzero" doc:"Whether badges with the response times of the checks are public. Those of a new page are not."`
	Subscriptions rest.Field[bool]              `json:"subscriptions,omitzero" doc:"Whether readers may subscribe to messages by mail and by webhook. Those of a new page may not."`
	ManagedBy     resource.ManagedMember        `json:"managed_by,omitzero" doc:"The program that manages the page. Absent keeps it, and null releases the page."`

	Protected      any `json:"protected,omitempty" readOnly:"true" doc:"Ignored."`
	LogoURL        any `json:"logo_url,omitempty" readOnly:"true" doc:"Ignored."`
	HostVerifiedAt any `json:"host_verified_at,omitempty" readOnly:"true" doc:"Ignored."`
	Subscribers    any `json:"subscribers,omitempty" readOnly:"true" doc:"Ignored."`

	ID        any `json:"id,omitempty" readOnly:"true" doc:"Ignored."`
	URL       any `json:"url,omitempty" readOnly:"true" doc:"Ignored."`
	Revision  any `json:"revision,omitempty" readOnly:"true" doc:"Ignored."`
	CreatedAt any `json:"created_at,omitempty" readOnly:"true" doc:"Ignored."`
	UpdatedAt any `json:"updated_at,omitempty" readOnly:"true" doc:"Ignored."`
}

type (
	// StatusPageCreate is the body that creates a status page.
	StatusPageCreate struct{ StatusPageMembers }
	statusPageUpdate struct{ StatusPageMembers }
)

// TransformSchema says what a new page needs.
func (StatusPageCreate) TransformSchema(_ huma.Registry, s *huma.Schema) *huma.Schema {
	s.Required = []string{"slug", "title"}
	return s
}

// Change applies the members that were given.
func (m *StatusPageMembers) Change(page *overview.StatusPage) (err error) {
	if m.Slug.Given {
		if !overview.ValidSlug(m.Slug.Value) {
			return vigil.Invalid("slug", "must have 1 to 63 lower-case letters, digits and hyphens, with no hyphen at either end, such as acme")
		}
		page.Slug = m.Slug.Value
	}
	if m.Title.Given {
		if page.Title, err = rest.CleanName("title", m.Title.Value); err != nil {
			return err
		}
	}
	if err := resource.SetManagedBy(&page.ManagedBy, m.ManagedBy); err != nil {
		return err
	}
	if m.NoIndex.Given {
		page.NoIndex = m.NoIndex.Value
	}
	if m.Enabled.Given {
		page.Enabled = m.Enabled.Value
	}
	if m.Groups.Given {
		if page.Groups, err = statusGroups(m.Groups.Value); err != nil {
			return err
		}
	}
	return m.changeLooks(&page.StatusLooks)
}

func (m *StatusPageMembers) changeLooks(looks *overview.StatusLooks) (err error) {
	if m.Accent.Given {
		if looks.Accent, err = overview.ParseAccent(m.Accent.Value); err != nil {
			return err
		}
	}
	if m.Host.Given {
		if looks.Host, err = overview.ParseHost(m.Host.Value); err != nil {
			return err
		}
	}
	if m.ResponseTimes.Given {
		looks.ResponseTimes = m.ResponseTimes.Value
	}
	if m.Subscriptions.Given {
		looks.Subscriptions = m.Subscriptions.Value
	}
	return nil
}

// statusGroups reads groups; whose checks they are is for the store to say.
func statusGroups(in []statusGroupView) ([]overview.StatusGroup, error) {
	if len(in) > overview.MaxStatusGroups {
		return nil, vigil.Invalid("groups", "must have at most %d items", overview.MaxStatusGroups)
	}
	groups, n := make([]overview.StatusGroup, len(in)), 0
	for i, group := range in {
		if group.Name != "" {
			var err error
			if groups[i].Name, err = rest.CleanName(fmt.Sprintf("groups[%d].name", i), group.Name); err != nil {
				return nil, err
			}
		}
		if n += len(group.Checks); n > overview.MaxStatusChecks {
			return nil, vigil.Invalid("groups", "must have at most %d checks in all", overview.MaxStatusChecks)
		}
		for j, check := range group.Checks {
			member := fmt.Sprintf("groups[%d].checks[%d]", i, j)
			id, err := rest.ParseID(check.CheckID, ResourceCheck)
			if err != nil {
				return nil, vigil.Invalid(member+".check_id", "is not a check of this organization")
			}
			name, err := rest.CleanName(member+".name", check.Name)
			if err != nil {
				return nil, err
			}
			groups[i].Checks = append(groups[i].Checks, overview.PublicCheck{CheckID: id, Name: name})
		}
	}
	return groups, nil
}
