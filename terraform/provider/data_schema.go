// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
)

// dataAttributes returns the attributes of a data source: filters may be given, the API
// gives the others.
func dataAttributes(fields []*field, filters map[string]bool) map[string]schema.Attribute {
	attributes := make(map[string]schema.Attribute, len(fields))
	for _, one := range fields {
		attributes[one.Name] = one.dataAttribute(filters[one.Name])
	}
	return attributes
}

func (f *field) dataAttribute(filter bool) schema.Attribute {
	computed := f.Computed
	switch f.Form {
	case formInteger:
		return schema.Int64Attribute{MarkdownDescription: f.Doc, Computed: computed}
	case formNumber:
		return schema.Float64Attribute{MarkdownDescription: f.Doc, Computed: computed}
	case formBoolean:
		return schema.BoolAttribute{MarkdownDescription: f.Doc, Optional: filter, Computed: computed}
	case formList, formSet:
		return f.dataList()
	case formMap:
		if f.Elem.Form == formObject {
			nested := schema.NestedAttributeObject{Attributes: dataAttributes(f.Elem.Members, nil)}
			return schema.MapNestedAttribute{MarkdownDescription: f.Doc, Computed: computed, NestedObject: nested}
		}
		return schema.MapAttribute{MarkdownDescription: f.Doc, Computed: computed, ElementType: f.Elem.attrType()}
	case formObject:
		return schema.SingleNestedAttribute{
			MarkdownDescription: f.Doc, Computed: computed, Attributes: dataAttributes(f.Members, nil),
		}
	case formText, formScalar:
	}
	return schema.StringAttribute{MarkdownDescription: f.Doc, Optional: filter, Computed: computed, Sensitive: f.Private}
}

func (f *field) dataList() schema.Attribute {
	if f.Elem.Form == formObject {
		nested := schema.NestedAttributeObject{Attributes: dataAttributes(f.Elem.Members, nil)}
		return schema.ListNestedAttribute{MarkdownDescription: f.Doc, Computed: f.Computed, NestedObject: nested}
	}
	if f.Form == formSet {
		return schema.SetAttribute{MarkdownDescription: f.Doc, Computed: f.Computed, ElementType: f.Elem.attrType()}
	}
	return schema.ListAttribute{MarkdownDescription: f.Doc, Computed: f.Computed, ElementType: f.Elem.attrType()}
}
