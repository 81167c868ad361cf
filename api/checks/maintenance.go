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
	"github.com/vigil-monitor/vigil/internal/maintenance"
)

const (
	resourceMaintenance = "maintenance window"
	// previewed is how many occurrences a preview shows.
	previewed = 50
)

// maintenanceStore keeps maintenance windows.
type maintenanceStore interface {
	CreateMaintenanceWindow(ctx context.Context, w maintenance.Window) (maintenance.Status, error)
	MaintenanceWindows(ctx context.Context, orgID uuid.UUID, f maintenance.Filter) ([]maintenance.Status, listing.Extent, error)
	MaintenanceWindow(ctx context.Context, orgID, id uuid.UUID) (maintenance.Status, error)
	UpdateMaintenanceWindow(
		ctx context.Context, orgID, id uuid.UUID, change func(*maintenance.Window) error,
	) (maintenance.Status, error)
	EndMaintenance(ctx context.Context, orgID, id uuid.UUID, match vigil.Precondition) (maintenance.Status, error)
	DeleteMaintenanceWindow(ctx context.Context, orgID, id uuid.UUID, match vigil.Precondition) error
}

type windows struct {
	store maintenanceStore
	now   func() time.Time
}

// maintenanceWindowView is a maintenance window.
type maintenanceWindowView struct {
	ID       uuid.UUID            `json:"id" format:"uuid"`
	Name     string               `json:"name" example:"Database upgrade"`
	Scope    maintenanceScopeView `json:"scope" doc:"What is maintained: the union of its members."`
	StartsAt string               `json:"starts_at" doc:"When the first occurrence starts, as clocks in the time zone show it." example:"2026-12-01T22:00"`
	Timezone string               `json:"timezone" example:"Europe/Berlin"`
	Duration int64                `json:"duration_seconds" doc:"How long an occurrence lasts, in elapsed time." example:"1800"`
	RRule    string               `json:"rrule" doc:"The recurrence rule; empty for none." example:"FREQ=WEEKLY;BYDAY=TU"`
	Cron     string               `json:"cron" doc:"The cron expression; empty for none."`
	Until    *string              `json:"until" doc:"No occurrence starts after this time, as clocks in the time zone show it; null for no end."`
	Probing  string               `json:"probing" enum:"continue,pause" doc:"Whether the checks are probed during maintenance."`
	Uptime   string               `json:"uptime" enum:"exclude,include" doc:"Whether results during maintenance count for uptime."`
	Enabled  bool                 `json:"enabled"`

	ManagedBy *resource.ManagedByView `json:"managed_by" doc:"The program that manages the window, such as a project of files; null when none does."`

	State         maintenance.State `json:"state" enum:"active,upcoming,ended,disabled" doc:"active: an occurrence runs. upcoming: the next one is planned. ended: there is none. disabled: the window is switched off."`
	ActiveUntil   *time.Time        `json:"active_until" doc:"When the occurrence that runs ends; null when none does."`
	Next          []occurrenceView  `json:"next" doc:"The occurrences that start later, at most 10, the earliest first."`
	ChecksCovered int64             `json:"checks_covered" doc:"How many checks the scope covers now."`
	Revision      int64             `json:"revision" doc:"Grows by one with every change of the window, also when one of its checks is deleted; the ETag for If-Match."`
	CreatedAt     time.Time         `json:"created_at"`
	UpdatedAt     time.Time         `json:"updated_at"`
}

// CurrentRevision is the window's, for its ETag.
func (v maintenanceWindowView) CurrentRevision() int64 { return v.Revision }

// maintenanceScopeView is what a window covers.
type maintenanceScopeView struct {
	CheckIDs []string `json:"check_ids,omitempty" maxItems:"1000" doc:"Checks of the organization."`
	Labels   []string `json:"labels,omitempty" maxItems:"20" doc:"Checks that have one of these labels, in the form key=value, also later ones." example:"[\"team=payments\"]"`
	All      bool     `json:"all,omitempty" doc:"Every check of the organization, also later ones. Not on the free plan."`
}

// occurrenceView is an occurrence of a window.
type occurrenceView struct {
	StartsAt      time.Time `json:"starts_at"`
	EndsAt        time.Time `json:"ends_at"`
	LocalStartsAt string    `json:"local_starts_at" doc:"The start as clocks in the time zone show it." example:"2026-12-01T22:00"`
	LocalEndsAt   string    `json:"local_ends_at" doc:"The end as clocks in the time zone show it." example:"2026-12-01T22:30"`
	Shifted       bool      `json:"shifted" doc:"The planned time does not exist on this day, because clocks are set forward; the occurrence starts at the first instant after the gap."`
	ClockChange   int64     `json:"clock_change_seconds" doc:"How far clocks are set forward (or, when negative, back) during the occurrence; its local times differ by so much from its duration."`
}

func showOccurrence(s *maintenance.Schedule, o maintenance.Occurrence) occurrenceView {
	start, end := s.WallTime(o.StartsAt), s.WallTime(o.EndsAt)
	return occurrenceView{
		StartsAt: o.StartsAt.UTC(), EndsAt: o.EndsAt.UTC(), Shifted: o.Shifted,
		LocalStartsAt: maintenance.FormatWallTime(start), LocalEndsAt: maintenance.FormatWallTime(end),
		ClockChange: int64((end.Sub(start) - o.EndsAt.Sub(o.StartsAt)) / time.Second),
	}
}

func showMaintenance(w maintenance.Status) maintenanceWindowView {
	view := maintenanceWindowView{
		ID:    w.ID,
		Name:  w.Name,
		Scope: maintenanceScopeView{Labels: w.Scope.Labels, All: w.Scope.All},
		StartsAt: maintenance.FormatWallTime(
			w.StartsAt,
		),
		Timezone:      w.Timezone,
		Duration:      int64(w.Duration / time.Second),
		RRule:         w.RRule,
		Cron:          w.Cron,
		Probing:       string(w.Probing),
		Uptime:        string(w.Uptime),
		Enabled:       w.Enabled,
		State:         w.State,
		Next:          make([]occurrenceView, len(w.Next)),
		ManagedBy:     resource.ShowManagedBy(w.ManagedBy),
		ChecksCovered: w.ChecksCovered,
		Revision:      w.Version,
		CreatedAt:     w.CreatedAt.UTC(),
		UpdatedAt:     w.UpdatedAt.UTC(),
	}
	for _, id := range w.Scope.CheckIDs {
		view.Scope.CheckIDs = append(view.Scope.CheckIDs, id.String())
	}
	if w.Until != nil {
		until := maintenance.FormatWallTime(*w.Until)
		view.Until = &until
	}
	if w.Current != nil {
		view.ActiveUntil = &w.Current.EndsAt
	}
	for i, o := range w.Next {
		view.Next[i] = showOccurrence(&w.Schedule, o)
	}
	return view
}

func (m *windows) Register(r *rest.Registrar) {
	const list, one = "/v1/maintenance-windows", "/v1/maintenance-windows/{id}"
	rest.Register(r, rest.Operation{
		Method: http.MethodGet, Path: list, ID: "list-maintenance-windows", Tag: resource.TagMaintenance,
		Summary: "List the maintenance windows, newest first",
	}, m.list)
	rest.Register(r, rest.Operation{
		Method: http.MethodPost, Path: list, ID: "create-maintenance-window", Tag: resource.TagMaintenance, Scope: account.ScopeWrite,
		Audit: "maintenance_window.create", Status: http.StatusCreated, Idempotent: true, Revisioned: true,
		Summary: "Create a maintenance window",
		Description: "During its occurrences no incident of a check that it covers opens. A check that still fails at the end of an " +
			"occurrence opens one then. An incident that is open stays, and its recovery is notified.",
		Errors: []int{http.StatusForbidden},
	}, m.create)
	rest.Register(r, rest.Operation{
		Method: http.MethodPost, Path: list + "/preview", ID: "preview-maintenance-window", Tag: resource.TagMaintenance,
		Scope: account.ScopeRead, Audit: rest.NotAudited,
		Summary: "Show when a maintenance window would occur",
		Description: "The next 50 occurrences of a schedule. Nothing is stored. An occurrence that a change of the clock moves or " +
			"stretches says so.",
	}, m.preview)
	rest.Register(r, rest.Operation{
		Method:     http.MethodGet,
		Path:       one,
		ID:         "get-maintenance-window",
		Tag:        resource.TagMaintenance,
		Resource:   resourceMaintenance,
		Revisioned: true,
		Summary:    "Get a maintenance window",
	}, m.get)
	rest.Register(r, rest.Operation{
		Method: http.MethodPut, Path: one, ID: "update-maintenance-window", Tag: resource.TagMaintenance, Scope: account.ScopeWrite,
		Audit: "maintenance_window.update", Resource: resourceMaintenance, Revisioned: true,
		Summary: "Update a maintenance window",
		Description: "Members that are left out stay as they are; `scope` is replaced as a whole. Occurrences that have ended stay as " +
			"they were, except in a window that occurs once.",
		Errors: []int{http.StatusForbidden, http.StatusConflict},
	}, m.update)
	rest.Register(r, rest.Operation{
		Method: http.MethodDelete, Path: one, ID: "delete-maintenance-window", Tag: resource.TagMaintenance, Scope: account.ScopeWrite,
		Audit: "maintenance_window.delete", Resource: resourceMaintenance, Revisioned: true, Status: http.StatusNoContent,
		Summary:     "Delete a maintenance window",
		Description: "An occurrence that runs ends now. What past occurrences excluded from uptime stays excluded.",
	}, m.delete)
	rest.Register(r, rest.Operation{
		Method: http.MethodPost, Path: one + "/end", ID: "end-maintenance", Tag: resource.TagMaintenance, Scope: account.ScopeRespond,
		Audit: "maintenance_window.end", Resource: resourceMaintenance, Revisioned: true,
		Summary:     "End the maintenance that runs now",
		Description: "The occurrence that runs ends now; later ones stay. When none runs, the answer is 409.",
		Errors:      []int{http.StatusConflict},
	}, m.end)
}

type listMaintenanceInput struct {
	rest.ListQuery
	resource.ManagedSelection

	State   maintenance.State `query:"state" enum:"active,upcoming,ended,disabled" doc:"Windows in one state."`
	CheckID string            `query:"check_id" format:"uuid" doc:"Windows that cover this check."`
}

func (m *windows) list(ctx context.Context, in *listMaintenanceInput) (*rest.Listing[maintenanceWindowView], error) {
	binding := append([]string{"maintenance-windows", string(in.State), in.CheckID}, in.ManagedBinding()...)
	page, cursor, err := in.Open(rest.MaxPage, binding...)
	if err != nil {
		return nil, err
	}
	filter := maintenance.Filter{State: in.State, Managed: in.Managed(), Page: page}
	if in.CheckID != "" {
		id, err := resource.FilterID("check_id", in.CheckID)
		if err != nil {
			return nil, err
		}
		filter.CheckID = &id
	}
	rows, extent, err := m.store.MaintenanceWindows(ctx, rest.CallerOf(ctx).Org.ID, filter)
	if err != nil {
		return nil, err
	}
	return rest.NewPage(rows, extent, cursor, showMaintenance), nil
}

func (m *windows) get(ctx context.Context, in *rest.IDPath) (*rest.Answer[maintenanceWindowView], error) {
	id, err := in.Parse(resourceMaintenance)
	if err != nil {
		return nil, err
	}
	return answerMaintenance(m.store.MaintenanceWindow(ctx, rest.CallerOf(ctx).Org.ID, id))
}

func answerMaintenance(w maintenance.Status, err error) (*rest.Answer[maintenanceWindowView], error) {
	if err != nil {
		return nil, err
	}
	return rest.NewAnswer(showMaintenance(w)), nil
}

func (m *windows) create(ctx context.Context, in *struct{ Body MaintenanceWindowCreate }) (*rest.Answer[maintenanceWindowView], error) {
	window := NewMaintenance(rest.CallerOf(ctx).Org.ID)
	err := in.Body.Change(&window, m.now())
	if err != nil {
		return nil, err
	}
	if window.ID, err = uuid.NewV7(); err != nil {
		return nil, err
	}
	rest.AuditResource(ctx, window.ID)
	rest.ShowRepeated(ctx, showMaintenance)
	return answerMaintenance(m.store.CreateMaintenanceWindow(ctx, window))
}

func (m *windows) preview(_ context.Context, in *struct{ Body maintenanceWindowPreview }) (*rest.Answer[[]occurrenceView], error) {
	schedule := NewMaintenance(uuid.Nil).Schedule
	if err := in.Body.schedule(&schedule); err != nil {
		return nil, err
	}
	if err := schedule.Validate(); err != nil {
		return nil, err
	}
	shown := []occurrenceView{}
	for o := range schedule.Occurrences(m.now()) {
		if shown = append(shown, showOccurrence(&schedule, o)); len(shown) == previewed {
			break
		}
	}
	return rest.NewAnswer(shown), nil
}

type updateMaintenanceInput struct {
	rest.IDPath
	Body maintenanceWindowUpdate
}

func (m *windows) update(ctx context.Context, in *updateMaintenanceInput) (*rest.Answer[maintenanceWindowView], error) {
	id, err := in.Parse(resourceMaintenance)
	if err != nil {
		return nil, err
	}
	return answerMaintenance(m.store.UpdateMaintenanceWindow(ctx, rest.CallerOf(ctx).Org.ID, id, func(w *maintenance.Window) error {
		if err := rest.PreconditionOf(ctx).Check(resourceMaintenance, w.Version); err != nil {
			return err
		}
		return in.Body.Change(w, m.now())
	}))
}

func (m *windows) end(ctx context.Context, in *rest.IDPath) (*rest.Answer[maintenanceWindowView], error) {
	id, err := in.Parse(resourceMaintenance)
	if err != nil {
		return nil, err
	}
	return answerMaintenance(m.store.EndMaintenance(ctx, rest.CallerOf(ctx).Org.ID, id, rest.PreconditionOf(ctx)))
}

func (m *windows) delete(ctx context.Context, in *rest.IDPath) (*struct{}, error) {
	id, err := in.Parse(resourceMaintenance)
	if err != nil {
		return nil, err
	}
	return nil, m.store.DeleteMaintenanceWindow(ctx, rest.CallerOf(ctx).Org.ID, id, rest.PreconditionOf(ctx))
}
