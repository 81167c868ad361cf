// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/api/resource"
	"github.com/vigil-monitor/vigil/api/rest"
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/internal/listing"
	"github.com/vigil-monitor/vigil/internal/location"
)

const resourceLocation = "location"

// locationStore keeps the locations of organizations.
type locationStore interface {
	CreateLocation(ctx context.Context, l location.Location) (location.Location, string, error)
	Location(ctx context.Context, orgID, id uuid.UUID) (location.Location, error)
	Locations(ctx context.Context, orgID uuid.UUID, filter listing.LocationFilter) ([]location.Location, listing.Extent, error)
	UpdateLocation(ctx context.Context, orgID, id uuid.UUID, change func(*location.Location) error) (location.Location, error)
	RotateLocationToken(ctx context.Context, orgID, id uuid.UUID) (location.Location, string, error)
	DeleteLocation(ctx context.Context, orgID, id uuid.UUID, match vigil.Precondition) error
}

type locations struct{ store locationStore }

// LocationMembers are the members of a location that can be written. What else it shows may come along and is
// ignored.
type LocationMembers struct {
	Name   rest.Field[string]       `json:"name,omitzero" example:"Office" doc:"What people call the place, up to 200 characters."`
	Labels rest.Field[vigil.Labels] `json:"labels,omitzero" doc:"Replaces all labels: up to 20 names and values. A name has 1 to 63 characters of a-z, 0-9, ., _, / and -; a value has up to 200."`

	ID          any `json:"id,omitempty" readOnly:"true" doc:"Ignored."`
	Token       any `json:"token,omitempty" readOnly:"true" doc:"Ignored."`
	TokenPrefix any `json:"token_prefix,omitempty" readOnly:"true" doc:"Ignored."`
	State       any `json:"state,omitempty" readOnly:"true" doc:"Ignored."`
	SilentSince any `json:"silent_since,omitempty" readOnly:"true" doc:"Ignored."`
	Agents      any `json:"agents,omitempty" readOnly:"true" doc:"Ignored."`
	Checks      any `json:"checks,omitempty" readOnly:"true" doc:"Ignored."`
	Revision    any `json:"revision,omitempty" readOnly:"true" doc:"Ignored."`
	RotatedAt   any `json:"rotated_at,omitempty" readOnly:"true" doc:"Ignored."`
	CreatedAt   any `json:"created_at,omitempty" readOnly:"true" doc:"Ignored."`
	UpdatedAt   any `json:"updated_at,omitempty" readOnly:"true" doc:"Ignored."`
}

type (
	locationCreate struct {
		LocationMembers

		Key string `json:"key,omitempty" maxLength:"44" doc:"What checks name in regions: loc- and 1 to 40 characters of a-z, 0-9 and -. It never changes. Default: loc- and the words of the name." example:"loc-office"`
	}
	locationUpdate struct {
		LocationMembers

		Key rest.Field[string] `json:"key,omitzero" doc:"Must be the key that the location has: it never changes." example:"loc-office"`
	}
)

// TransformSchema says what a new location needs.
func (locationCreate) TransformSchema(_ huma.Registry, s *huma.Schema) *huma.Schema {
	s.Required = []string{"name"}
	s.Examples = []any{map[string]any{"name": "Office", "labels": map[string]string{"site": "berlin"}}}
	return s
}

// LocationView is a location without its token.
type LocationView struct {
	ID          uuid.UUID         `json:"id" format:"uuid"`
	Key         string            `json:"key" doc:"What checks name in regions." example:"loc-office"`
	Name        string            `json:"name" example:"Office"`
	Labels      map[string]string `json:"labels"`
	TokenPrefix string            `json:"token_prefix" doc:"The first characters of the token, to recognize it." example:"vga_k3v7q2m5"`
	State       location.State    `json:"state" enum:"online,silent,never" doc:"online: an agent reports. silent: none has reported for 30 seconds. never: none has connected yet."`
	SilentSince *time.Time        `json:"silent_since" nullable:"true" doc:"When the last agent reported; null unless the location is silent."`
	Agents      []agentView       `json:"agents" doc:"The agents that report, newest report first; of a silent location the one that reported last."`
	Checks      int64             `json:"checks" doc:"How many checks name the location."`
	Revision    int64             `json:"revision" doc:"Grows by one with every change of the location; the ETag for If-Match."`
	RotatedAt   time.Time         `json:"rotated_at" doc:"When the token was made: at first as created_at."`
	CreatedAt   time.Time         `json:"created_at"`
	UpdatedAt   time.Time         `json:"updated_at"`
}

// CurrentRevision is the location's, for its ETag.
func (v LocationView) CurrentRevision() int64 { return v.Revision }

// newLocationView is a location together with its token, which is shown only once.
type newLocationView struct {
	LocationView

	Token string `json:"token" doc:"What agents connect with. It is shown only once." example:"vga_k3v7q2m5x4c6b8n9z2l3j5h7g4"`
}

// agentView is a running agent of a location.
type agentView struct {
	ID        uuid.UUID         `json:"id" format:"uuid"`
	Name      string            `json:"name" doc:"Name of the agent's machine." example:"office-1"`
	Version   string            `json:"version" doc:"Version of the agent's program." example:"1.4.0"`
	StartedAt time.Time         `json:"started_at"`
	SeenAt    time.Time         `json:"seen_at" doc:"When it reported last."`
	Clock     float64           `json:"clock_difference_seconds" doc:"By how many seconds the agent's clock is ahead of the platform's, negative when it is behind. From 5 seconds on the agent corrects the times of its probes by it."`
	Spool     spoolView         `json:"spool"`
	Checks    int64             `json:"checks" doc:"How many checks it probes."`
	Types     []vigil.CheckType `json:"types" doc:"Check types that it can probe."`
}

// spoolView is what an agent has not been able to send.
type spoolView struct {
	Results int64 `json:"results" doc:"Results that wait to be sent."`
	Bytes   int64 `json:"bytes" doc:"How large they are on the agent's disk."`
	Dropped int64 `json:"dropped" doc:"Results that gave way since the agent started, because the spool was full."`
}

func showLocation(l location.Location) LocationView {
	view := LocationView{
		ID: l.ID, Key: l.Key, Name: l.Name, Labels: LabelsView(l.Labels), TokenPrefix: l.TokenPrefix, State: l.State,
		SilentSince: l.SilentSince, Agents: make([]agentView, len(l.Agents)), Checks: l.Checks, Revision: l.Version,
		RotatedAt: l.RotatedAt, CreatedAt: l.CreatedAt, UpdatedAt: l.UpdatedAt,
	}
	for i := range l.Agents {
		a := &l.Agents[i]
		view.Agents[i] = agentView{
			ID: a.ID, Name: a.Name, Version: a.Version, StartedAt: a.StartedAt, SeenAt: a.SeenAt, Clock: a.Clock.Seconds(),
			Spool: spoolView{Results: a.Spool.Results, Bytes: a.Spool.Bytes, Dropped: a.Spool.Dropped}, Checks: a.Checks, Types: a.Types,
		}
	}
	return view
}

func (o *locations) Register(r *rest.Registrar) {
	const one = locationsPath + "/{id}"
	rest.Register(r, rest.Operation{
		Method: http.MethodGet, Path: locationsPath, ID: "list-locations", Tag: resource.TagLocations,
		Summary: "List the locations, newest first",
	}, o.list)
	rest.Register(r, rest.Operation{
		Method:     http.MethodPost,
		Path:       locationsPath,
		ID:         "create-location",
		Tag:        resource.TagLocations,
		Scope:      account.ScopeAdmin,
		Audit:      "location.create",
		Status:     http.StatusCreated,
		Idempotent: true,
		Revisioned: true,
		Summary:    "Create a location",
		Description: "Agents connect with `token`, which is shown once: a program that has it probes the checks of the location and reads " +
			"their configs. A request that is repeated with its Idempotency-Key is answered without it: `token` is empty then, and rotating it " +
			"gives another one. Checks name the `key` in `regions`. A key that is taken is answered with 409 and `suggested_key` in the details.",
		Errors: []int{http.StatusForbidden, http.StatusConflict},
	}, o.create)
	rest.Register(r, rest.Operation{
		Method: http.MethodGet, Path: one, ID: "get-location", Tag: resource.TagLocations, Resource: resourceLocation,
		Revisioned: true, Summary: "Get a location",
	}, o.get)
	rest.Register(r, rest.Operation{
		Method: http.MethodPut, Path: one, ID: "update-location", Tag: resource.TagLocations, Scope: account.ScopeWrite,
		Audit: "location.update", Resource: resourceLocation, Revisioned: true, Summary: "Update a location",
		Description: "Members that are left out stay as they are. The key never changes.",
	}, o.update)
	rest.Register(r, rest.Operation{
		Method: http.MethodDelete, Path: one, ID: "delete-location", Tag: resource.TagLocations, Scope: account.ScopeAdmin,
		Audit: "location.delete", Resource: resourceLocation, Revisioned: true, Status: http.StatusNoContent, Summary: "Delete a location",
		Description: "Its token is not accepted any more. A location that checks name stays: the answer is 409, and says which.",
		Errors:      []int{http.StatusConflict},
	}, o.delete)
	rest.Register(r, rest.Operation{
		Method: http.MethodPost, Path: one + "/rotate-token", ID: "rotate-location-token", Tag: resource.TagLocations,
		Scope: account.ScopeAdmin, Audit: "location.rotate_token", Resource: resourceLocation, Revisioned: true,
		Summary:     "Give a location another token",
		Description: "The token before is not accepted any more, within 5 seconds: agents need the new one, which is shown once.",
	}, o.rotate)
}

type listLocationsInput struct {
	rest.ListQuery
	Query string   `query:"query" maxLength:"200" doc:"Locations whose name or key contains this text, in any case."`
	Label []string `query:"label,explode" doc:"Locations with a label: key=value, or key for any value. Given several times, all must match."`
}

func (o *locations) list(ctx context.Context, in *listLocationsInput) (*rest.Listing[LocationView], error) {
	filter := listing.LocationFilter{Query: in.Query}
	var err error
	if filter.Labels, err = vigil.ParseLabelSelectors("label", in.Label); err != nil {
		return nil, err
	}
	page, cursor, err := in.Open(rest.MaxPage, append([]string{"locations", in.Query}, in.Label...)...)
	if err != nil {
		return nil, err
	}
	filter.Page = page
	rows, extent, err := o.store.Locations(ctx, rest.CallerOf(ctx).Org.ID, filter)
	if err != nil {
		return nil, err
	}
	return rest.NewPage(rows, extent, cursor, showLocation), nil
}

func answerLocation(l location.Location, err error) (*rest.Answer[LocationView], error) {
	if err != nil {
		return nil, err
	}
	return rest.NewAnswer(showLocation(l)), nil
}

func answerToken(l location.Location, token string, err error) (*rest.Answer[newLocationView], error) {
	if err != nil {
		return nil, err
	}
	return rest.NewAnswer(newLocationView{LocationView: showLocation(l), Token: token}), nil
}

func (o *locations) get(ctx context.Context, in *rest.IDPath) (*rest.Answer[LocationView], error) {
	id, err := in.Parse(resourceLocation)
	if err != nil {
		return nil, err
	}
	return answerLocation(o.store.Location(ctx, rest.CallerOf(ctx).Org.ID, id))
}

// change applies the members that were given.
func (m *LocationMembers) change(l *location.Location) (err error) {
	if m.Name.Given {
		if l.Name, err = rest.CleanName("name", m.Name.Value); err != nil {
			return err
		}
	}
	if m.Labels.Given {
		if err := m.Labels.Value.Validate(); err != nil {
			return err
		}
		l.Labels = m.Labels.Value
	}
	return nil
}

func (o *locations) create(ctx context.Context, in *struct{ Body locationCreate }) (*rest.Answer[newLocationView], error) {
	l := location.Location{OrgID: rest.CallerOf(ctx).Org.ID, Key: in.Body.Key}
	err := in.Body.change(&l)
	if err != nil {
		return nil, err
	}
	if l.Key == "" {
		if l.Key = location.KeyOf(l.Name); l.Key == "" {
			return nil, vigil.Invalid("key", "must be given, such as loc-office: the name has none of a-z and 0-9")
		}
	}
	if err := location.CheckKey("key", l.Key); err != nil {
		return nil, err
	}
	if l.ID, err = uuid.NewV7(); err != nil {
		return nil, err
	}
	rest.AuditResource(ctx, l.ID)
	rest.ShowRepeated(ctx, func(l location.Location) newLocationView { return newLocationView{LocationView: showLocation(l)} })
	return answerToken(o.store.CreateLocation(ctx, l))
}

type updateLocationInput struct {
	rest.IDPath
	Body locationUpdate
}

func (o *locations) update(ctx context.Context, in *updateLocationInput) (*rest.Answer[LocationView], error) {
	id, err := in.Parse(resourceLocation)
	if err != nil {
		return nil, err
	}
	return answerLocation(o.store.UpdateLocation(ctx, rest.CallerOf(ctx).Org.ID, id, func(l *location.Location) error {
		if err := rest.PreconditionOf(ctx).Check(resourceLocation, l.Version); err != nil {
			return err
		}
		if in.Body.Key.Given && in.Body.Key.Value != l.Key {
			return vigil.Invalid("key", "must stay %s: the key of a location never changes", l.Key)
		}
		return in.Body.change(l)
	}))
}

func (o *locations) delete(ctx context.Context, in *rest.IDPath) (*struct{}, error) {
	id, err := in.Parse(resourceLocation)
	if err != nil {
		return nil, err
	}
	return nil, o.store.DeleteLocation(ctx, rest.CallerOf(ctx).Org.ID, id, rest.PreconditionOf(ctx))
}

func (o *locations) rotate(ctx context.Context, in *rest.IDPath) (*rest.Answer[newLocationView], error) {
	id, err := in.Parse(resourceLocation)
	if err != nil {
		return nil, err
	}
	return answerToken(o.store.RotateLocationToken(ctx, rest.CallerOf(ctx).Org.ID, id))
}
