// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/vigil-monitor/vigil/client"
)

// listed is a data source: one object, or a list of those that its filters select.
type listed struct {
	Name    string
	Doc     string
	Answer  string // schema of an object
	Many    string // name of the list; "" for one object
	Filters []filter
	Fetch   func(ctx context.Context, a *api, query url.Values) ([]map[string]any, error)

	fields []*field
}

// filter is an attribute that selects objects.
type filter struct {
	Name, Doc string
	Form      form
	Query     string // parameter of the list; "" compares the member itself
}

// sourcesOfData returns the data sources.
func sourcesOfData() []*listed {
	label := filter{Name: "label", Doc: "A label that it has: `name=value`, or `name` for any value.", Query: "label"}
	name := filter{Name: "name", Doc: "Its name.", Query: "query"}
	one := []filter{{Name: idName, Doc: "Its id.", Query: idName}, name, label}
	kind := filter{Name: "type", Doc: "Only those of a type.", Query: "type"}
	enabled := filter{Name: "enabled", Doc: "Only enabled ones, or only disabled ones.", Form: formBoolean, Query: "enabled"}
	text := filter{Name: "query", Doc: "Only those whose name contains the text; for checks also the target.", Query: "query"}
	project := filter{Name: "project", Doc: "Only those that the project manages.", Query: "project"}
	many := []filter{text, kind, enabled, label, project}
	region := []filter{
		{Name: "key", Doc: "The key of the region."},
		{Name: "alias", Doc: "A cloud's name of the region, such as `us-east-1`."},
	}
	all := []*listed{
		{Name: "check", Answer: "Check", Filters: one, Fetch: listOf("check"), Doc: "A check by its id, its name or a label, with its health."},
		{Name: "checks", Answer: "Check", Many: "checks", Filters: many, Fetch: listOf("check"), Doc: "The checks that all filters select."},
		{
			Name: "notification_channel", Answer: "NotificationChannel", Filters: one, Fetch: listOf("notification_channel"),
			Doc: "A notification channel by its id, its name or a label.",
		},
		{
			Name: "notification_channels", Answer: "NotificationChannel", Many: "channels", Filters: many,
			Fetch: listOf("notification_channel"), Doc: "The notification channels that all filters select.",
		},
		{Name: "region", Answer: "Region", Filters: region, Fetch: regionList, Doc: "A region by its key or by a cloud's name of it."},
		{
			Name: "location", Answer: "Location", Fetch: listOf("location"),
			Doc:     "A location by its id, its name, its key or a label, with its agents.",
			Filters: append(slices.Clone(one), filter{Name: keyName, Doc: "Its key, such as `loc-office`."}),
		},
		{
			Name: "locations", Answer: "Location", Many: "locations", Filters: []filter{text, label}, Fetch: listOf("location"),
			Doc: "The locations that all filters select.",
		},
		{Name: "regions", Answer: "Region", Many: "regions", Fetch: regionList, Doc: "All regions."},
		{Name: "organization", Answer: "Organization", Fetch: organization, Doc: "The organization that the key belongs to."},
		{Name: "usage", Answer: "Usage", Fetch: usage, Doc: "What the organization uses, and the limits of its tier."},
		{
			Name: "template_variables", Answer: "TemplateVariable", Many: "variables", Fetch: variables,
			Doc: "The variables of the templates of messages.",
		},
	}
	for _, d := range all {
		d.fields = d.members()
	}
	return all
}

// listOf returns the function that lists the objects of a resource, or gets one by its id.
func listOf(name string) func(context.Context, *api, url.Values) ([]map[string]any, error) {
	return func(ctx context.Context, a *api, query url.Values) ([]map[string]any, error) {
		if id, err := uuid.Parse(query.Get(idName)); err == nil {
			one, err := shapes()[name].get(ctx, a, place{ID: id})
			if one == nil {
				return nil, err
			}
			return []map[string]any{one}, err
		}
		return shapes()[name].find(ctx, a, query)
	}
}

func regionList(ctx context.Context, a *api, _ url.Values) ([]map[string]any, error) {
	return a.regions(ctx)
}

func organization(ctx context.Context, a *api, _ url.Values) ([]map[string]any, error) {
	me, err := data[map[string]any](a.client.GetMe(ctx))
	found, _ := me["organization"].(map[string]any)
	return []map[string]any{found}, err
}

func usage(ctx context.Context, a *api, _ url.Values) ([]map[string]any, error) {
	used, err := data[map[string]any](a.client.GetUsage(ctx))
	return []map[string]any{used}, err
}

func variables(ctx context.Context, a *api, _ url.Values) ([]map[string]any, error) {
	return pages(ctx, func(more edit) (*http.Response, error) {
		return a.client.ListTemplateVariables(ctx, (*client.ListTemplateVariablesParams)(nil), more)
	}, nil)
}

// members returns the attributes of an object of the data source: those of the API, with
// the config as a nested attribute of its type.
func (d *listed) members() []*field {
	var fields []*field
	_, answer := (&definition{Ref: d.Answer}).resolve()
	for _, name := range slices.Sorted(maps.Keys(answer.Properties)) {
		property := answer.Properties[name]
		switch {
		case name == "config" && answer.Alternative != nil:
			fields = append(fields, alternativesOf(d.Answer)...)
		case name == "summary", name == "recipients": // in other requests only
		default:
			fields = append(fields, fieldOf(name, property, adjustments()[d.Answer+"."+name]))
		}
	}
	return computed(fields)
}

// computed returns fields as the API gives them, without what only a configuration has.
func computed(fields []*field) []*field {
	var out []*field
	for _, one := range fields {
		if one.Secret != notSecret {
			continue
		}
		f := *one
		f.Required, f.Computed, f.Default, f.Members = false, true, nil, computed(one.Members)
		if one.Elem != nil {
			f.Elem = computed([]*field{one.Elem})[0]
		}
		out = append(out, &f)
	}
	return out
}

// root returns all attributes: the filters, and the object or the list.
func (d *listed) root() *field {
	root := &field{Form: formObject}
	if d.Many == "" {
		root.Members = append(root.Members, d.fields...)
	} else {
		object := &field{Form: formObject, Members: d.fields}
		root.Members = append(root.Members, &field{
			Name: d.Many, Form: formList, Elem: object, Computed: true, Doc: "What was found, in the order of the API.",
		})
	}
	for _, one := range d.Filters {
		if root.member(one.Name) == nil {
			root.Members = append(root.Members, &field{Name: one.Name, Form: one.Form, Doc: one.Doc})
		}
	}
	return root
}

// source is a data source of Terraform.
type source struct {
	data *listed
	api  *api
}

var _ datasource.DataSourceWithConfigure = (*source)(nil)

// Metadata names the data source.
func (s *source) Metadata(_ context.Context, request datasource.MetadataRequest, response *datasource.MetadataResponse) {
	response.TypeName = request.ProviderTypeName + "_" + s.data.Name
}

// Configure takes the API from the provider.
func (s *source) Configure(_ context.Context, request datasource.ConfigureRequest, _ *datasource.ConfigureResponse) {
	s.api, _ = request.ProviderData.(*api)
}

// Schema returns the attributes of the data source.
func (s *source) Schema(_ context.Context, _ datasource.SchemaRequest, response *datasource.SchemaResponse) {
	filters := map[string]bool{}
	for _, one := range s.data.Filters {
		filters[one.Name] = true
	}
	response.Schema = schema.Schema{
		MarkdownDescription: s.data.Doc, Attributes: dataAttributes(s.data.root().Members, filters),
	}
}

// Read finds what the filters select.
func (s *source) Read(ctx context.Context, request datasource.ReadRequest, response *datasource.ReadResponse) {
	config := partsOf(request.Config.Raw)
	query := url.Values{}
	for _, one := range s.data.Filters {
		value, ok := (&field{Form: one.Form}).encode(sources{plan: config[one.Name]})
		if ok && one.Query != "" {
			query.Set(one.Query, plain(value))
		}
	}
	all, err := s.data.Fetch(ctx, s.api, query)
	if err != nil {
		noun := &shape{kind: &kind{Noun: strings.ReplaceAll(s.data.Name, "_", " ")}, root: &field{Form: formObject}}
		response.Diagnostics.Append(noun.diagnose("read", err, request.Config.Raw)...)
		return
	}
	all = slices.DeleteFunc(slices.Clone(all), func(one map[string]any) bool { return !s.data.matches(one, config) })
	root := s.data.root()
	if s.data.Many == "" {
		if len(all) != 1 {
			response.Diagnostics.AddError("Not exactly one found", fmt.Sprintf("%d match; name one by its id.", len(all)))
			return
		}
		response.State.Raw = s.data.value(root, all[0], config)
		return
	}
	items := make([]any, len(all))
	for i, one := range all {
		items[i] = one
	}
	response.State.Raw = s.data.value(root, map[string]any{s.data.Many: items}, config)
}

// matches reports whether an object has what the filters say that the list has no
// parameter for, or finds by a part only.
func (d *listed) matches(one map[string]any, config map[string]tftypes.Value) bool {
	for _, by := range d.Filters {
		given := ""
		if by.Form == formText {
			given = textOf(config[by.Name])
		}
		switch {
		case given == "" || by.Query != "" && by.Name != "name":
		case by.Name == "alias":
			names, _ := one["aliases"].([]any)
			if !slices.Contains(names, any(given)) {
				return false
			}
		case plain(one[by.Name]) != given:
			return false
		}
	}
	return true
}

// value returns the state of the data source.
func (d *listed) value(root *field, got map[string]any, config map[string]tftypes.Value) tftypes.Value {
	parts := map[string]tftypes.Value{}
	for _, one := range root.Members {
		if one.JSON == "" && one.Name != d.Many { // a filter
			parts[one.Name] = config[one.Name]
		}
	}
	read := &field{Form: formObject}
	for _, one := range root.Members {
		if parts[one.Name].Type() == nil {
			named := *one
			named.JSON = first(one.JSON, one.Name)
			read.Members = append(read.Members, &named)
		}
	}
	maps.Copy(parts, read.decodeMembers(reading{Import: true}, got, tftypes.Value{}))
	return tftypes.NewValue(root.tfType(), parts)
}
