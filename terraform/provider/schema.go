// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"github.com/hashicorp/terraform-plugin-framework-validators/mapvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/objectvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// resourceAttributes returns the attributes of fields in a resource.
func resourceAttributes(fields []*field) map[string]schema.Attribute {
	attributes := make(map[string]schema.Attribute, len(fields))
	for _, one := range fields {
		attributes[one.Name] = one.resourceAttribute()
	}
	firstOfUnion(fields, attributes)
	return attributes
}

// firstOfUnion lets the first type of a union demand that exactly one type is given.
func firstOfUnion(fields []*field, attributes map[string]schema.Attribute) {
	var types []path.Expression
	first := ""
	for _, one := range fields {
		if one.Type == "" {
			continue
		}
		if first == "" {
			first = one.Name
		}
		types = append(types, path.MatchRelative().AtParent().AtName(one.Name))
	}
	if nested, ok := attributes[first].(schema.SingleNestedAttribute); ok {
		nested.Validators = []validator.Object{objectvalidator.ExactlyOneOf(types...)}
		attributes[first] = nested
	}
}

func (f *field) resourceAttribute() schema.Attribute {
	required, optional, computed := f.Required, !f.Required && !f.readOnly(), f.Computed
	sensitive, hidden := f.sensitive(), f.Secret == secretHidden
	switch f.Form {
	case formInteger:
		return schema.Int64Attribute{MarkdownDescription: f.Doc, Required: required, Optional: optional, Computed: computed}
	case formNumber:
		return schema.Float64Attribute{MarkdownDescription: f.Doc, Required: required, Optional: optional, Computed: computed}
	case formBoolean:
		return schema.BoolAttribute{MarkdownDescription: f.Doc, Required: required, Optional: optional, Computed: computed}
	case formList, formSet:
		return f.resourceList(required, optional, computed)
	case formMap:
		return schema.MapAttribute{
			MarkdownDescription: f.Doc, Required: required, Optional: optional, Computed: computed, Sensitive: sensitive,
			WriteOnly: hidden, ElementType: f.Elem.attrType(), Validators: f.mapValidators(),
		}
	case formObject:
		return schema.SingleNestedAttribute{
			MarkdownDescription: f.Doc, Required: required, Optional: optional, Computed: computed,
			Attributes: resourceAttributes(f.Members),
		}
	case formText, formScalar:
	}
	return schema.StringAttribute{
		MarkdownDescription: f.Doc, Required: required, Optional: optional, Computed: computed, Sensitive: sensitive,
		WriteOnly: hidden, Validators: f.textValidators(),
	}
}

func (f *field) resourceList(required, optional, computed bool) schema.Attribute {
	nested := schema.NestedAttributeObject{Attributes: resourceAttributes(f.Elem.Members)}
	switch {
	case f.Elem.Form == formObject:
		return schema.ListNestedAttribute{
			MarkdownDescription: f.Doc, Required: required, Optional: optional, Computed: computed, NestedObject: nested,
		}
	case f.Form == formSet:
		return schema.SetAttribute{
			MarkdownDescription: f.Doc, Required: required, Optional: optional, Computed: computed, ElementType: f.Elem.attrType(),
		}
	}
	return schema.ListAttribute{
		MarkdownDescription: f.Doc, Required: required, Optional: optional, Computed: computed, ElementType: f.Elem.attrType(),
	}
}

// readOnly reports whether only the API gives the value.
func (f *field) readOnly() bool { return f.Computed && f.Default == nil && !f.Kept }

func (f *field) sensitive() bool {
	return f.Secret == secretInState || f.Secret == secretHidden || f.Private
}

// beside names an attribute of the same object.
func beside(name string) path.Expression { return path.MatchRelative().AtParent().AtName(name) }

func (f *field) textValidators() []validator.String {
	if f.Of == "" { // the API gives it
		return nil
	}
	switch f.Secret {
	case secretInState:
		return []validator.String{stringvalidator.ConflictsWith(beside(f.Of + "_wo"))}
	case secretHidden:
		return []validator.String{stringvalidator.AlsoRequires(beside(f.Of + "_wo_version"))}
	case notSecret, secretVersion:
	}
	return nil
}

func (f *field) mapValidators() []validator.Map {
	switch f.Secret {
	case secretInState:
		return []validator.Map{mapvalidator.ConflictsWith(beside(f.Of + "_wo"))}
	case secretHidden:
		return []validator.Map{mapvalidator.AlsoRequires(beside(f.Of + "_wo_version"))}
	case notSecret, secretVersion:
	}
	return nil
}

// attrType returns the type of a field's values for the framework.
func (f *field) attrType() attr.Type {
	switch f.Form {
	case formInteger:
		return types.Int64Type
	case formNumber:
		return types.Float64Type
	case formBoolean:
		return types.BoolType
	case formList:
		return types.ListType{ElemType: f.Elem.attrType()}
	case formSet:
		return types.SetType{ElemType: f.Elem.attrType()}
	case formMap:
		return types.MapType{ElemType: f.Elem.attrType()}
	case formObject:
		members := make(map[string]attr.Type, len(f.Members))
		for _, one := range f.Members {
			members[one.Name] = one.attrType()
		}
		return types.ObjectType{AttrTypes: members}
	case formText, formScalar:
	}
	return types.StringType
}
