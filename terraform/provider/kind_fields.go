// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"slices"
	"sync"

	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// The attributes that every managed resource has besides the members of its schema.
const (
	idName       = "id"
	typeName     = "type"
	keyName      = "key"
	managedName  = "managed_by"
	revisionName = "revision"
	labelsName   = "labels"
	allName      = "all_labels"
	enabledName  = "enabled"
	regionsName  = "regions"
	intervalName = "interval_seconds"
	// heartbeatName is the attribute, the type and the only region of heartbeats.
	heartbeatName = "heartbeat"
	pingName      = "ping_url"
	parentName    = "check_id"
	rulesName     = "rules"
)

// tool is the tool of managed_by.
const tool = "terraform"

// shape is a resource with its attributes.
type shape struct {
	*kind

	root *field // an object of all attributes
}

// shapes returns all resources with their attributes. They are made once.
var shapes = sync.OnceValue(func() map[string]*shape { //nolint:gochecknoglobals // made once
	all := map[string]*shape{}
	for _, one := range kinds() {
		all[one.Name] = &shape{kind: one, root: &field{Form: formObject, Members: one.fields()}}
	}
	return all
})

// fields returns the attributes of the resource: the members of the schema of its body,
// and what Terraform adds.
func (k *kind) fields() []*field {
	var fields []*field
	for _, one := range fieldsOf(k.Create) {
		switch one.Name {
		case managedName, rulesName: // the rules of a check are resources of their own
			continue
		case typeName, "config":
			if schemas()[k.Create].Alternative != nil {
				continue
			}
		}
		fields = append(fields, k.ruled(one))
	}
	if schemas()[k.Create].Alternative != nil {
		fields = append(fields, alternativesOf(k.Create)...)
		fields = append(fields, &field{Name: typeName, Computed: true, Doc: "The type, as the nested attribute says it."})
	}
	return append(fields, k.added()...)
}

// ruled adds to a member what it means to leave it out.
func (k *kind) ruled(f *field) *field {
	if means, ok := k.Defaults[f.Name]; ok {
		f.Default = means
	}
	switch {
	case f.Name == "name" && f.Doc == "":
		f.Doc = "A name for people."
	case f.Name == enabledName:
		f.Computed, f.Kept, f.Default = true, true, nil
		f.Doc = "Whether it is in use. A new one is. Left out, it stays as it is, so that what somebody paused stays paused."
	case f.Name == labelsName:
		f.Doc = "Names and values to group and to filter by: up to 20. Those of the provider's `default_labels` are added."
	case k.Name == "api_key" && f.Name == "scopes":
		f.Required = true
	case k.Name == "api_key" && f.Name == "expires_at":
		f.Computed, f.Kept, f.Default = true, true, nil
	case k.Name == "alert_rule" && f.Name == "condition":
		f.Required = true
	case f.Name == regionsName:
		f.Doc = "Keys of the regions that the check runs in. Their order decides the offsets when `simultaneous_regions` is false. " +
			"Default: the first region. A heartbeat has none to choose."
		f.Computed = true
	case f.Name == keyName: // the API makes one
		f.Computed, f.Kept, f.Default = true, true, nil
	case f.Name == intervalName:
		f.Doc = "How often the target is probed, in seconds. Required but for a heartbeat, for which it follows from the schedule."
		f.Computed, f.Kept = true, true
	case !f.Required && f.Default != nil && f.Default != "" && f.Form != formMap && f.Form != formObject:
		f.Computed = true
	}
	f.Blank = f.Form == formText && f.Default == ""
	f.Replace = slices.Contains(k.Replace, f.Name)
	return f
}

// added returns the attributes that are no members of the body.
func (k *kind) added() []*field {
	fields := []*field{{Name: idName, Computed: true, Doc: "The id."}}
	_, answer := (&definition{Ref: k.Answer}).resolve()
	for _, name := range k.Shown {
		shown := fieldOf(name, answer.Properties[name], adjustments()[k.Answer+"."+name])
		shown.Computed, shown.Default = true, nil
		fields = append(fields, shown)
	}
	if k.Name == "alert_rule" {
		fields = append(fields, &field{
			Name: parentName, Required: true, Replace: true, Doc: "The check that the rule belongs to. Another check needs another rule.",
		})
	}
	if k.Secret != "" {
		fields = append(fields, &field{Name: k.Secret, Computed: true, Secret: secretInState, Doc: k.SecretDoc})
	}
	if k.Labels {
		labels := &field{Name: allName, Form: formMap, Elem: &field{}, Computed: true}
		labels.Doc = "The labels of the object: `labels`, and those of the provider's `default_labels`."
		fields = append(fields, labels)
	}
	if !k.Managed {
		return fields
	}
	by := fieldOf(managedName, answer.Properties[managedName], adjustment{})
	by.Computed = true
	by.Doc = "What manages the object: the tool terraform, the provider's `project`, and `key`."
	for _, one := range by.Members {
		one.Required, one.Computed, one.Default = false, true, nil
	}
	return append(fields, by,
		&field{Name: keyName, Doc: "Identifies the object in the provider's `project`, for imports. Default: a random one."},
		&field{Name: revisionName, Form: formInteger, Computed: true, Doc: "Grows by one with every change of the definition."})
}

// member returns an attribute of the resource; one that does not exist is a mistake of
// the provider.
func (s *shape) member(name string) *field {
	if f := s.root.member(name); f != nil {
		return f
	}
	panic("vigil_" + s.Name + " has no attribute " + name)
}

// has reports whether the resource has an attribute.
func (s *shape) has(name string) bool { return s.root.member(name) != nil }

// object returns the values of all attributes as one; absent ones are null.
func (s *shape) object(parts map[string]tftypes.Value) tftypes.Value {
	all := make(map[string]tftypes.Value, len(s.root.Members))
	for _, one := range s.root.Members {
		if all[one.Name] = parts[one.Name]; parts[one.Name].Type() == nil {
			all[one.Name] = one.null()
		}
	}
	return tftypes.NewValue(s.root.tfType(), all)
}
