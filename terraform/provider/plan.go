// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// ModifyPlan completes a plan: what is left out, the labels and the manager. A plan that
// changes nothing stays equal to the state.
func (r *object) ModifyPlan(ctx context.Context, request resource.ModifyPlanRequest, response *resource.ModifyPlanResponse) {
	before := partsOf(request.State.Raw)
	if request.Plan.Raw.IsNull() { // a removal
		response.Diagnostics.Append(r.foreign(before)...)
		return
	}
	plan, config := partsOf(request.Plan.Raw), partsOf(request.Config.Raw)
	if r.api == nil || plan == nil {
		return
	}
	for _, one := range r.shape.root.Members {
		plan[one.Name] = r.planned(one, plan, config, before)
	}
	if before != nil {
		r.keepUnchanged(plan, before)
	}
	response.Plan.Raw = r.shape.object(plan)
	if before != nil && !response.Plan.Raw.Equal(request.State.Raw) {
		response.Diagnostics.Append(r.foreign(before)...)
		response.RequiresReplace = append(response.RequiresReplace, r.replaced(plan, before)...)
	}
	response.Diagnostics.Append(r.refuseAliases(ctx, config)...)
}

// planned returns the value of an attribute that a plan has.
func (r *object) planned(f *field, plan, config, before map[string]tftypes.Value) tftypes.Value {
	given := config[f.Name]
	switch f.Name {
	case typeName:
		return plannedType(r.shape, config)
	case allName:
		return r.allLabels(plan[labelsName])
	case managedName:
		return r.plannedManager(f, config[keyName], before[managedName])
	case revisionName, "url":
		return kept(f, before)
	case r.shape.Secret, "key_prefix", "token_prefix":
		return kept(f, before)
	case pingName:
		return plannedPing(f, plannedType(r.shape, config), before)
	}
	if value, follows := ofHeartbeat(f, plan, config, before); follows {
		return value
	}
	switch {
	case !f.Computed || !given.IsNull():
		return plan[f.Name]
	case f.Default != nil:
		return f.decode(reading{Import: true}, f.Default, f.null())
	case f.Name == enabledName && before == nil:
		return tftypes.NewValue(tftypes.Bool, true)
	}
	return kept(f, before)
}

// ofHeartbeat returns what follows from the type and the schedule of a heartbeat: its interval and its
// region. follows is false for everything else.
func ofHeartbeat(f *field, plan, config, before map[string]tftypes.Value) (value tftypes.Value, follows bool) {
	members, has := config[heartbeatName]
	if !has || members.IsNull() || !config[f.Name].IsNull() {
		return value, false
	}
	switch f.Name {
	case regionsName:
		return f.decode(reading{Import: true}, []any{heartbeatName}, f.null()), true
	case intervalName:
		if before != nil && plan[heartbeatName].Equal(before[heartbeatName]) {
			return before[f.Name], true
		}
		return f.unknown(), true
	}
	return value, false
}

// plannedPing returns where the job of a heartbeat pings: an address stays with the check, and a check of
// another type has none.
func plannedPing(f *field, kind tftypes.Value, before map[string]tftypes.Value) tftypes.Value {
	switch {
	case kind.IsKnown() && textOf(kind) != heartbeatName:
		return f.null()
	case before == nil || !known(before[f.Name]) || !kind.IsKnown():
		return f.unknown()
	}
	return before[f.Name]
}

// kept returns the value of the state, which a new object does not have yet.
func kept(f *field, before map[string]tftypes.Value) tftypes.Value {
	if before == nil {
		return f.unknown()
	}
	return before[f.Name]
}

// keepUnchanged marks what the API changes with any change.
func (r *object) keepUnchanged(plan, before map[string]tftypes.Value) {
	if r.shape.object(plan).Equal(r.shape.object(before)) || !r.shape.Managed {
		return
	}
	plan[revisionName] = r.shape.member(revisionName).unknown()
	if r.shape.has("url") && !plan["slug"].Equal(before["slug"]) {
		plan["url"] = r.shape.member("url").unknown()
	}
}

// plannedType returns the type that the nested attributes of a configuration say.
func plannedType(s *shape, config map[string]tftypes.Value) tftypes.Value {
	for _, one := range s.root.Members {
		if one.Type == "" || config[one.Name].IsNull() {
			continue
		}
		if !config[one.Name].IsKnown() {
			return tftypes.NewValue(tftypes.String, tftypes.UnknownValue)
		}
		return text(one.Type)
	}
	return tftypes.NewValue(tftypes.String, tftypes.UnknownValue)
}

// allLabels returns the labels of an object with those of the provider below them.
func (r *object) allLabels(own tftypes.Value) tftypes.Value {
	labels := r.shape.member(allName)
	if own.Type() != nil && !own.IsKnown() {
		return labels.unknown()
	}
	all := map[string]tftypes.Value{}
	for name, value := range r.api.labels {
		all[name] = text(value)
	}
	for name, value := range partsOf(own) {
		all[name] = value
	}
	return tftypes.NewValue(labels.tfType(), all)
}

// plannedManager returns what manages the object after the apply: this tool, with the key
// that the configuration or the object has.
func (r *object) plannedManager(f *field, key, before tftypes.Value) tftypes.Value {
	by := partsOf(before)
	if by != nil && textOf(by["tool"]) != tool {
		return before // refused in any case
	}
	if key.IsNull() {
		if key = by[keyName]; key.Type() == nil || key.IsNull() {
			key = tftypes.NewValue(tftypes.String, tftypes.UnknownValue)
		}
	}
	return tftypes.NewValue(f.tfType(), map[string]tftypes.Value{
		"tool": text(tool), "project": text(r.api.project), keyName: key,
	})
}

// replaced returns the changed attributes whose change needs another object.
func (r *object) replaced(plan, before map[string]tftypes.Value) path.Paths {
	var changed path.Paths
	for _, one := range r.shape.root.Members {
		must := one.Replace || one.Name == typeName && r.shape.replaces(typeName)
		if must && !plan[one.Name].Equal(before[one.Name]) {
			changed = append(changed, path.Root(one.Name))
		}
	}
	return changed
}

// foreign returns an error when another tool manages an object.
func (r *object) foreign(before map[string]tftypes.Value) diag.Diagnostics {
	by := partsOf(before[managedName])
	if by == nil || textOf(by["tool"]) == tool {
		return nil
	}
	return diag.Diagnostics{diag.NewErrorDiagnostic(
		"Managed by "+textOf(by["tool"]),
		refusal(r.shape.kind, textOf(by["tool"]), textOf(by["project"]), textOf(by[keyName]), textOf(before[idName])),
	)}
}

// refusal says who manages an object and how that ends.
func refusal(k *kind, by, project, key, id string) string {
	return fmt.Sprintf(
		"The %s is managed by %s as %s/%s, so Terraform does not change it. Release it there first: vigil release %s %s. "+
			"Or remove it from the state, which keeps it: terraform state rm.",
		k.Noun, by, project, key, k.Noun, id,
	)
}

// refuseAliases returns an error for each region that is given by a cloud's name: the API
// shows keys, so a plan would never be empty.
func (r *object) refuseAliases(ctx context.Context, config map[string]tftypes.Value) diag.Diagnostics {
	given := itemsOf(config["regions"])
	if r.shape.Name != "check" || len(given) == 0 {
		return nil
	}
	regions, err := r.api.regions(ctx)
	if err != nil {
		return nil // the API says it when the check is written
	}
	var refused diag.Diagnostics
	for i, one := range given {
		if key := aliasOf(regions, textOf(one)); key != "" {
			refused.AddAttributeError(
				path.Root("regions").AtListIndex(i), "Not the key of a region",
				fmt.Sprintf("%q is a cloud's name of the region %q. Write %q; or use the data source vigil_region with alias = %q.",
					textOf(one), key, key, textOf(one)),
			)
		}
	}
	return refused
}

// aliasOf returns the key of the region with an alias, or "".
func aliasOf(regions []map[string]any, alias string) string {
	for _, region := range regions {
		names, _ := region["aliases"].([]any)
		for _, name := range names {
			if name == alias {
				return plain(region["key"])
			}
		}
	}
	return ""
}
