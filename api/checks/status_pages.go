// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"context"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/api/resource"
	"github.com/vigil-monitor/vigil/api/rest"
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/internal/listing"
	"github.com/vigil-monitor/vigil/internal/overview"
)

const (
	resourceStatusPage = "status page"
)

// statusPageStore keeps status pages.
type statusPageStore interface {
	CreateStatusPage(ctx context.Context, page overview.StatusPage) (overview.StatusPage, error)
	StatusPages(ctx context.Context, orgID uuid.UUID, filter overview.StatusPageFilter) ([]overview.StatusPage, listing.Extent, error)
	StatusPage(ctx context.Context, orgID, id uuid.UUID) (overview.StatusPage, error)
	UpdateStatusPage(ctx context.Context, orgID, id uuid.UUID, change func(*overview.StatusPage) error) (overview.StatusPage, error)
	DeleteStatusPage(ctx context.Context, orgID, id uuid.UUID, match vigil.Precondition) error
	// SetStatusPassword stores the argon2id hash of the password of a page; empty: none.
	SetStatusPassword(ctx context.Context, orgID, id uuid.UUID, hash string) (overview.StatusPage, error)
	// SetStatusLogo stores the picture of a page; nil: none.
	SetStatusLogo(ctx context.Context, orgID, id uuid.UUID, logo *overview.Logo) (overview.StatusPage, error)
	// VerifyStatusHost notes that the page may have its host, and that no other page has it any more.
	VerifyStatusHost(ctx context.Context, orgID, id uuid.UUID, host string) (overview.StatusPage, error)
	StatusReaders(ctx context.Context, orgID, pageID, after uuid.UUID, limit int) ([]overview.Reader, error)
	DeleteStatusReader(ctx context.Context, orgID, pageID, id uuid.UUID) error
}

type statusPages struct {
	store        statusPageStore
	publicURL    string
	hashPassword func(ctx context.Context, password string) (string, error)
	lookupTXT    func(ctx context.Context, name string) ([]string, error)
}

// statusPageView is a status page.
type statusPageView struct {
	ID             uuid.UUID               `json:"id" format:"uuid"`
	Slug           string                  `json:"slug" example:"acme" doc:"The last part of the page's address, unique among all organizations."`
	Title          string                  `json:"title" example:"Acme status"`
	Groups         []statusGroupView       `json:"groups" doc:"The checks that the page shows, under headings."`
	NoIndex        bool                    `json:"noindex" doc:"Whether search engines are asked to leave the page out."`
	Enabled        bool                    `json:"enabled" doc:"Whether the public can see the page."`
	Accent         string                  `json:"accent" doc:"The color of links and buttons, such as #3a4cc8; empty: the standard one."`
	Host           string                  `json:"host" doc:"The name under which the page is served at /; empty: none."`
	HostVerifiedAt *time.Time              `json:"host_verified_at" doc:"When a TXT record showed that the page may have its host; null: not yet, so that it is not served there."`
	ResponseTimes  bool                    `json:"response_times" doc:"Whether badges with the response times of the checks are public."`
	Subscriptions  bool                    `json:"subscriptions" doc:"Whether readers may subscribe to messages."`
	Subscribers    int64                   `json:"subscribers" doc:"How many readers have subscribed and confirmed it."`
	Protected      bool                    `json:"protected" doc:"Whether readers need a password; see PUT /v1/status-pages/{id}/password."`
	LogoURL        string                  `json:"logo_url" doc:"Where the picture at the top of the page is; empty: it has none."`
	ManagedBy      *resource.ManagedByView `json:"managed_by" doc:"The program that manages the page, such as a project of files; null when none does."`
	URL            string                  `json:"url" doc:"Where the public sees the page."`
	Revision       int64                   `json:"revision,omitempty" doc:"Grows by one with every change of the page, also when one of its checks is deleted; the ETag for If-Match."`
	CreatedAt      time.Time               `json:"created_at"`
	UpdatedAt      time.Time               `json:"updated_at"`
}

// CurrentRevision is the page's, for its ETag.
func (v statusPageView) CurrentRevision() int64 { return v.Revision }

// statusGroupView is a heading of a status page and the checks below it.
type statusGroupView struct {
	Name   string            `json:"name" maxLength:"200" doc:"The heading; may be empty." example:"Shop"`
	Checks []statusCheckView `json:"checks" maxItems:"200"`
}

// statusCheckView is a check on a status page.
type statusCheckView struct {
	CheckID string `json:"check_id" format:"uuid" doc:"A check of the organization. A page shows a check once."`
	Name    string `json:"name" maxLength:"200" doc:"The name that the public sees; the check's own name is not shown." example:"Checkout"`
}

func (s *statusPages) show(page overview.StatusPage) statusPageView {
	view := statusPageView{
		ID:      page.ID,
		Slug:    page.Slug,
		Title:   page.Title,
		Groups:  make([]statusGroupView, len(page.Groups)),
		NoIndex: page.NoIndex,
		Enabled: page.Enabled,
		Accent:  page.Accent, Host: page.Host, HostVerifiedAt: resource.InUTC(page.HostVerifiedAt), ResponseTimes: page.ResponseTimes,
		Subscriptions: page.Subscriptions, Subscribers: page.Subscribers, Protected: page.Protected,
		ManagedBy: resource.ShowManagedBy(page.ManagedBy),
		URL:       s.publicURL + "/status/" + page.Slug,
		Revision:  page.Version,
		CreatedAt: page.CreatedAt.UTC(),
		UpdatedAt: page.UpdatedAt.UTC(),
	}
	if page.Logo {
		view.LogoURL = view.URL + "/logo"
	}
	for i, group := range page.Groups {
		view.Groups[i] = statusGroupView{Name: group.Name, Checks: make([]statusCheckView, len(group.Checks))}
		for j, check := range group.Checks {
			view.Groups[i].Checks[j] = statusCheckView{CheckID: check.CheckID.String(), Name: check.Name}
		}
	}
	return view
}

func (s *statusPages) Register(r *rest.Registrar) {
	const list, one = "/v1/status-pages", "/v1/status-pages/{id}"
	rest.Register(r, rest.Operation{
		Method: http.MethodGet, Path: list, ID: "list-status-pages", Tag: resource.TagStatusPages,
		Summary: "List the status pages, newest first",
	}, s.list)
	rest.Register(r, rest.Operation{
		Method:     http.MethodPost,
		Path:       list,
		ID:         "create-status-page",
		Tag:        resource.TagStatusPages,
		Scope:      account.ScopeWrite,
		Audit:      "status_page.create",
		Status:     http.StatusCreated,
		Idempotent: true,
		Revisioned: true,
		Summary:    "Create a status page",
		Description: "The page shows the chosen checks to the public, at /status/ and its slug, under the names that are given here. " +
			"It is also " +
			"at .json and .atom, and each of its checks has a badge at /badge/{check_id}.svg.",
		Errors: []int{http.StatusConflict, http.StatusForbidden},
	}, s.create)
	rest.Register(r, rest.Operation{
		Method: http.MethodGet, Path: one, ID: "get-status-page", Tag: resource.TagStatusPages, Resource: resourceStatusPage, Revisioned: true,
		Summary: "Get a status page",
	}, s.get)
	rest.Register(r, rest.Operation{
		Method: http.MethodPut, Path: one, ID: "update-status-page", Tag: resource.TagStatusPages, Scope: account.ScopeWrite,
		Audit: "status_page.update", Resource: resourceStatusPage, Revisioned: true,
		Summary:     "Update a status page",
		Description: "Members that are left out stay as they are; `groups` is replaced as a whole.",
		Errors:      []int{http.StatusConflict},
	}, s.update)
	rest.Register(r, rest.Operation{
		Method: http.MethodDelete, Path: one, ID: "delete-status-page", Tag: resource.TagStatusPages, Scope: account.ScopeWrite,
		Audit: "status_page.delete", Resource: resourceStatusPage, Revisioned: true, Status: http.StatusNoContent,
		Summary: "Delete a status page",
	}, s.delete)
	s.registerExtras(r, one)
}

type listStatusPagesInput struct {
	rest.ListQuery
	resource.ManagedSelection
}

func (s *statusPages) list(ctx context.Context, in *listStatusPagesInput) (*rest.Listing[statusPageView], error) {
	page, cursor, err := in.Open(rest.MaxPage, append([]string{"status-pages"}, in.ManagedBinding()...)...)
	if err != nil {
		return nil, err
	}
	rows, extent, err := s.store.StatusPages(ctx, rest.CallerOf(ctx).Org.ID, overview.StatusPageFilter{Managed: in.Managed(), Page: page})
	if err != nil {
		return nil, err
	}
	return rest.NewPage(rows, extent, cursor, s.show), nil
}

func (s *statusPages) get(ctx context.Context, in *rest.IDPath) (*rest.Answer[statusPageView], error) {
	id, err := in.Parse(resourceStatusPage)
	if err != nil {
		return nil, err
	}
	page, err := s.store.StatusPage(ctx, rest.CallerOf(ctx).Org.ID, id)
	if err != nil {
		return nil, err
	}
	return rest.NewAnswer(s.show(page)), nil
}

func (s *statusPages) create(ctx context.Context, in *struct{ Body StatusPageCreate }) (*rest.Answer[statusPageView], error) {
	page := overview.StatusPage{OrgID: rest.CallerOf(ctx).Org.ID, Enabled: true}
	err := in.Body.Change(&page)
	if err != nil {
		return nil, err
	}
	if page.ID, err = uuid.NewV7(); err != nil {
		return nil, err
	}
	rest.AuditResource(ctx, page.ID)
	rest.ShowRepeated(ctx, s.show)
	if page, err = s.store.CreateStatusPage(ctx, page); err != nil {
		return nil, err
	}
	return rest.NewAnswer(s.show(page)), nil
}

type updateStatusPageInput struct {
	rest.IDPath
	Body statusPageUpdate
}

func (s *statusPages) update(ctx context.Context, in *updateStatusPageInput) (*rest.Answer[statusPageView], error) {
	id, err := in.Parse(resourceStatusPage)
	if err != nil {
		return nil, err
	}
	page, err := s.store.UpdateStatusPage(ctx, rest.CallerOf(ctx).Org.ID, id, func(page *overview.StatusPage) error {
		if err := rest.PreconditionOf(ctx).Check(resourceStatusPage, page.Version); err != nil {
			return err
		}
		return in.Body.Change(page)
	})
	if err != nil {
		return nil, err
	}
	return rest.NewAnswer(s.show(page)), nil
}

func (s *statusPages) delete(ctx context.Context, in *rest.IDPath) (*struct{}, error) {
	id, err := in.Parse(resourceStatusPage)
	if err != nil {
		return nil, err
	}
	return nil, s.store.DeleteStatusPage(ctx, rest.CallerOf(ctx).Org.ID, id, rest.PreconditionOf(ctx))
}
