// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// object is a resource of Terraform of any kind.
type object struct {
	shape *shape
	api   *api // nil until the provider is configured
}

var (
	_ resource.ResourceWithConfigure   = (*object)(nil)
	_ resource.ResourceWithModifyPlan  = (*object)(nil)
	_ resource.ResourceWithImportState = (*object)(nil)
)

// Metadata names the resource.
func (r *object) Metadata(_ context.Context, request resource.MetadataRequest, response *resource.MetadataResponse) {
	response.TypeName = request.ProviderTypeName + "_" + r.shape.Name
}

// Schema returns the attributes of the resource.
func (r *object) Schema(_ context.Context, _ resource.SchemaRequest, response *resource.SchemaResponse) {
	response.Schema = schema.Schema{MarkdownDescription: r.shape.Doc, Attributes: resourceAttributes(r.shape.root.Members)}
}

// Configure takes the API from the provider.
func (r *object) Configure(_ context.Context, request resource.ConfigureRequest, _ *resource.ConfigureResponse) {
	r.api, _ = request.ProviderData.(*api)
}

// Create creates the object. When its outcome is not known, the state has the key of
// managed_by, by which the next plan finds the object.
func (r *object) Create(ctx context.Context, request resource.CreateRequest, response *resource.CreateResponse) {
	plan := partsOf(request.Plan.Raw)
	if r.shape.Managed {
		plan[managedName] = withKey(plan[managedName])
	}
	from := sources{plan: r.shape.object(plan), config: request.Config.Raw}
	at := place{}
	if r.shape.Name == "alert_rule" {
		at.Check, _ = uuid.Parse(textOf(plan[parentName]))
	}
	got, err := r.send(func(body []byte) (*http.Response, error) {
		return r.shape.create(ctx, r.api.client, at, bytes.NewReader(body), header("Idempotency-Key", uuid.NewString()))
	}, r.shape.body(from, false))
	if err != nil {
		response.Diagnostics.Append(r.shape.diagnose("create", err, request.Config.Raw)...)
		code := status(err)
		_, unsent := errors.AsType[*unsentError](err)
		if r.shape.Managed && (code == 0 && !unsent || code >= http.StatusInternalServerError) {
			response.State.Raw = r.shape.object(withoutUnknown(plan))
		}
		return
	}
	if r.shape.Secret != "" && plain(got[r.shape.Secret]) == "" {
		remedy := "Revoke it with vigil api-key revoke"
		if r.shape.Name != "api_key" {
			remedy = "Delete it with vigil " + r.shape.Noun + " delete"
		}
		response.Diagnostics.AddError("The "+r.shape.Secret+" was lost", fmt.Sprintf(
			"The %s %s was created, but its answer was lost on the way. %s, and apply again.", r.shape.Noun, got[idName], remedy))
		return
	}
	response.State.Raw = r.shape.state(r.api, got, from.plan, false)
	response.Diagnostics.Append(r.shape.warnings(got)...)
}

// withKey gives an object that has none a key of its own.
func withKey(by tftypes.Value) tftypes.Value {
	parts := partsOf(by)
	if !known(parts[keyName]) {
		parts[keyName] = text(uuid.NewString())
	}
	return tftypes.NewValue(by.Type(), parts)
}

// withoutUnknown replaces what is not known by absence.
func withoutUnknown(plan map[string]tftypes.Value) map[string]tftypes.Value {
	out := maps.Clone(plan)
	for name, value := range out {
		if !value.IsFullyKnown() {
			out[name] = tftypes.NewValue(value.Type(), nil)
		}
	}
	return out
}

// Read reads the object; one that is gone is removed from the state.
func (r *object) Read(ctx context.Context, request resource.ReadRequest, response *resource.ReadResponse) {
	got, err := r.current(ctx, request.State)
	switch {
	case err != nil:
		response.Diagnostics.Append(r.shape.diagnose("read", err, request.State.Raw)...)
	case got == nil:
		response.State.RemoveResource(ctx)
	default:
		response.State.Raw = r.shape.state(r.api, got, request.State.Raw, false)
	}
}

// current returns what the API has for a state: by the id, or by the key of managed_by
// when the outcome of the create is not known.
func (r *object) current(ctx context.Context, state tfsdk.State) (map[string]any, error) {
	before := partsOf(state.Raw)
	id, err := uuid.Parse(textOf(before[idName]))
	if err == nil {
		return r.shape.get(ctx, r.api, place{ID: id})
	}
	by := partsOf(before[managedName])
	return r.shape.findManaged(ctx, r.api, textOf(by["project"]), textOf(by[keyName]))
}

// Update changes the object if it still has the revision that the plan is based on.
func (r *object) Update(ctx context.Context, request resource.UpdateRequest, response *resource.UpdateResponse) {
	plan, before := partsOf(request.Plan.Raw), partsOf(request.State.Raw)
	if refused := r.foreign(before); refused != nil {
		response.Diagnostics.Append(refused...)
		return
	}
	if r.shape.Managed {
		plan[managedName] = withKey(plan[managedName])
	}
	from := sources{plan: r.shape.object(plan), config: request.Config.Raw, state: request.State.Raw}
	got, err := r.send(func(body []byte) (*http.Response, error) {
		return r.shape.update(ctx, r.api.client, statePlace(before), bytes.NewReader(body), ifMatch(before))
	}, r.shape.body(from, true))
	if err != nil {
		response.Diagnostics.Append(r.shape.diagnose("update", err, request.Config.Raw)...)
		return
	}
	response.State.Raw = r.shape.state(r.api, got, from.plan, false)
	response.Diagnostics.Append(r.shape.warnings(got)...)
}

// Delete deletes the object if it still has the revision that the plan is based on.
func (r *object) Delete(ctx context.Context, request resource.DeleteRequest, response *resource.DeleteResponse) {
	before := partsOf(request.State.Raw)
	response.Diagnostics.Append(r.foreign(before)...)
	at, more := statePlace(before), ifMatch(before)
	if at.ID == uuid.Nil && !response.Diagnostics.HasError() {
		got, err := r.current(ctx, request.State)
		if err != nil {
			response.Diagnostics.Append(r.shape.diagnose("delete", err, request.State.Raw)...)
			return
		}
		at, more = placeOf(got), header("", "")
	}
	if at.ID == uuid.Nil || response.Diagnostics.HasError() {
		return
	}
	_, err := data[any](r.shape.remove(ctx, r.api.client, at, more))
	if err != nil && status(err) != http.StatusNotFound {
		response.Diagnostics.Append(r.shape.diagnose("delete", err, request.State.Raw)...)
	}
}

// ImportState reads an object by its id, by key:PROJECT/KEY, or by a member such as slug:shop.
func (r *object) ImportState(ctx context.Context, request resource.ImportStateRequest, response *resource.ImportStateResponse) {
	if r.shape.Name == "api_key" {
		response.Diagnostics.AddError("An API key cannot be imported", "The key is shown only once, when it is created.")
		return
	}
	got, err := r.lookUp(ctx, request.ID)
	if err != nil {
		response.Diagnostics.Append(r.shape.diagnose("import", err, response.State.Raw)...)
		return
	}
	if by, _ := got[managedName].(map[string]any); by != nil && (by["tool"] != tool || by["project"] != r.api.project) {
		response.Diagnostics.AddError("Managed by "+plain(by["tool"]), refusal(
			r.shape.kind, plain(by["tool"]), plain(by["project"]), plain(by["key"]), plain(got[idName])))
		return
	}
	response.State.Raw = r.shape.state(r.api, got, r.shape.object(nil), true)
}

// lookUp returns the object that the id of an import names.
func (r *object) lookUp(ctx context.Context, name string) (map[string]any, error) {
	if id, err := uuid.Parse(name); err == nil {
		got, err := r.shape.get(ctx, r.api, place{ID: id})
		if got == nil && err == nil {
			err = notFound(r.shape.kind, "the id "+name)
		}
		return got, err
	}
	by, value, _ := strings.Cut(name, ":")
	switch project, key, ok := strings.Cut(value, "/"); {
	case by == keyName && ok:
		got, err := r.shape.findManaged(ctx, r.api, project, key)
		if got == nil && err == nil {
			err = notFound(r.shape.kind, "the key "+key+" in the project "+project)
		}
		return got, err
	case slices.Contains(r.shape.Lookup, by):
		return r.shape.only(ctx, r.api, by, value)
	}
	forms := []string{"its id", "key:PROJECT/KEY"}
	for _, one := range r.shape.Lookup {
		forms = append(forms, one+":"+strings.ToUpper(one))
	}
	return nil, &failure{Status: http.StatusBadRequest, Message: "Name the " + r.shape.Noun + " by " + strings.Join(forms, ", or ") + "."}
}

// only returns the one object whose member has a value.
func (s *shape) only(ctx context.Context, a *api, member, value string) (map[string]any, error) {
	query := url.Values{}
	if member == "name" {
		query.Set("query", value)
	}
	all, err := s.find(ctx, a, query)
	var found []map[string]any
	for _, one := range all {
		if plain(one[member]) == value {
			found = append(found, one)
		}
	}
	if err == nil && len(found) != 1 {
		err = notFound(s.kind, "the "+member+" "+value)
		if len(found) > 1 {
			err = &failure{Status: http.StatusConflict, Message: fmt.Sprintf("%d have the %s %q; name one by its id.", len(found), member, value)}
		}
	}
	if err != nil {
		return nil, err
	}
	return found[0], nil
}

func notFound(k *kind, by string) error {
	return &failure{Status: http.StatusNotFound, Message: "There is no " + k.Noun + " with " + by + "."}
}

// send makes a request with a body and returns the object of its answer.
func (r *object) send(do func(body []byte) (*http.Response, error), body map[string]any) (map[string]any, error) {
	raw, err := json.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("write the body: %w", err)
	}
	return data[map[string]any](do(raw))
}

func statePlace(before map[string]tftypes.Value) place {
	return placeOf(map[string]any{idName: textOf(before[idName]), parentName: textOf(before[parentName])})
}

// ifMatch makes a change depend on the revision of the state.
func ifMatch(before map[string]tftypes.Value) edit {
	revision := before[revisionName]
	if !known(revision) {
		return header("", "")
	}
	number, _ := (&field{Form: formInteger}).encode(sources{plan: revision})
	return header("If-Match", `"`+plain(number)+`"`)
}
