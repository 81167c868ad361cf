// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"context"
	"maps"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/path"
	tfprovider "github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/provider/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/vigil-monitor/vigil/internal/console"
)

// Source is the provider's name in a required_providers block, and Address where Terraform looks
// for it. `make module` changes both.
const (
	Source  = "vigil-monitor/vigil"
	Address = "registry.terraform.io/" + Source
)

// defaultProject is the project of managed_by without the attribute project.
const defaultProject = "terraform"

// New returns a function that makes the provider with a version.
func New(version string) func() tfprovider.Provider {
	return func() tfprovider.Provider { return &vigil{version: version} }
}

type vigil struct{ version string }

// settings are the attributes of the provider.
type settings struct {
	URL     types.String `tfsdk:"url"`
	Key     types.String `tfsdk:"api_key"`
	Context types.String `tfsdk:"context"`
	Project types.String `tfsdk:"project"`
	Labels  types.Map    `tfsdk:"default_labels"`
}

// Metadata names the provider.
func (p *vigil) Metadata(_ context.Context, _ tfprovider.MetadataRequest, response *tfprovider.MetadataResponse) {
	response.TypeName, response.Version = "vigil", p.version
}

// Schema returns the attributes of the provider.
func (p *vigil) Schema(_ context.Context, _ tfprovider.SchemaRequest, response *tfprovider.SchemaResponse) {
	response.Schema = schema.Schema{
		MarkdownDescription: "Manages the checks, alert rules, notification channels, subscriptions, status pages " +
			"and maintenance windows of Vigil.",
		Attributes: map[string]schema.Attribute{
			"url": schema.StringAttribute{
				Optional: true, MarkdownDescription: "Address of the server, such as `https://vigil.example.com`. Environment: `VIGIL_URL`.",
			},
			"api_key": schema.StringAttribute{
				Optional: true, Sensitive: true,
				MarkdownDescription: "API key with the scopes `read` and `write`; `admin` as well for `vigil_api_key` and `vigil_location`. " +
					"Environment: `VIGIL_API_KEY`.",
			},
			"context": schema.StringAttribute{
				Optional: true,
				MarkdownDescription: "Context of the command line that has the address and the key, instead of `url` and `api_key`. " +
					"Environment: `VIGIL_CONTEXT`. Without any of these, the current context of the command line is used.",
			},
			"project": schema.StringAttribute{
				Optional: true,
				MarkdownDescription: "Project of what the provider creates: the member `managed_by.project` in the API. Give each " +
					"configuration its own. Default: `terraform`.",
			},
			"default_labels": schema.MapAttribute{
				Optional: true, ElementType: types.StringType,
				MarkdownDescription: "Labels of every check, rule and channel. A label of the resource wins over one of the same name.",
			},
		},
	}
}

// Configure finds the server and the key.
func (p *vigil) Configure(ctx context.Context, request tfprovider.ConfigureRequest, response *tfprovider.ConfigureResponse) {
	var config settings
	response.Diagnostics.Append(request.Config.Get(ctx, &config)...)
	for name, unknown := range map[string]bool{
		"url": config.URL.IsUnknown(), "api_key": config.Key.IsUnknown(), "context": config.Context.IsUnknown(),
		"project": config.Project.IsUnknown(), "default_labels": config.Labels.IsUnknown(),
	} {
		if unknown {
			response.Diagnostics.AddAttributeError(path.Root(name), "Not known yet", "The provider needs the value of "+name+" to plan.")
		}
	}
	if response.Diagnostics.HasError() {
		return
	}
	contexts, err := console.ReadContexts(configPath(), func(string, ...any) {})
	if err != nil {
		response.Diagnostics.AddWarning("The contexts of the command line cannot be read", err.Error())
		contexts = &console.Contexts{}
	}
	own := given{url: config.URL.ValueString(), key: config.Key.ValueString(), context: config.Context.ValueString()}
	address, key, err := target(own, environment(), contexts)
	if err != nil {
		response.Diagnostics.AddError("The provider is not configured", "The provider cannot start: "+err.Error()+".")
		return
	}
	to, err := newAPI(address, key, p.version)
	if err != nil {
		response.Diagnostics.AddError("The provider is not configured", err.Error())
		return
	}
	to.project = first(config.Project.ValueString(), defaultProject)
	response.Diagnostics.Append(config.Labels.ElementsAs(ctx, &to.labels, false)...)
	response.ResourceData, response.DataSourceData = to, to
}

// Resources returns the resources.
func (p *vigil) Resources(context.Context) []func() resource.Resource {
	var all []func() resource.Resource
	for _, name := range slices.Sorted(maps.Keys(shapes())) {
		all = append(all, func() resource.Resource { return &object{shape: shapes()[name]} })
	}
	return all
}

// DataSources returns the data sources.
func (p *vigil) DataSources(context.Context) []func() datasource.DataSource {
	var all []func() datasource.DataSource
	for _, one := range sourcesOfData() {
		all = append(all, func() datasource.DataSource { return &source{data: one} })
	}
	return all
}
