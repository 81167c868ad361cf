// SPDX-License-Identifier: Apache-2.0

package provider_test

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"

	"github.com/vigil-monitor/vigil/terraform/provider"
)

// renamed are members of the API that have another name in Terraform, or none: those that
// Terraform has in another form.
func renamed() map[string]string {
	return map[string]string{
		"notification_channel_ids": "channel_ids", "managed_by": "managed_by", "smtp-imap": "smtp_imap",
		"condition_type": "condition", "threshold": "condition", // the short form of a condition
	}
}

// attributes returns the attributes of a resource.
func attributes(t *testing.T, name string) map[string]schema.Attribute {
	t.Helper()
	for _, make := range provider.New("test")().Resources(t.Context()) {
		r, meta, answer := make(), &resource.MetadataResponse{}, &resource.SchemaResponse{}
		r.Metadata(t.Context(), resource.MetadataRequest{ProviderTypeName: "vigil"}, meta)
		if meta.TypeName == name {
			r.Schema(t.Context(), resource.SchemaRequest{}, answer)
			return answer.Schema.Attributes
		}
	}
	t.Fatalf("there is no resource %s", name)
	return nil
}

// nested returns the attributes below one, of an object or of the items of a list.
func nested(a schema.Attribute) map[string]schema.Attribute {
	switch a := a.(type) {
	case schema.SingleNestedAttribute:
		return a.Attributes
	case schema.ListNestedAttribute:
		return a.NestedObject.Attributes
	}
	return nil
}

// TestEveryMemberOfTheDocumentIsAnAttribute reads the document itself, not the copy that
// the provider has.
func TestEveryMemberOfTheDocumentIsAnAttribute(t *testing.T) {
	t.Parallel()
	all := document(t)
	created, _ := all["CheckCreate"].(map[string]any)
	members, _ := created["properties"].(map[string]any)
	delete(members, "rules") // resources of their own, vigil_alert_rule
	for name, schema := range map[string]string{
		"vigil_check": "CheckCreate", "vigil_alert_rule": "AlertRuleCreate", "vigil_notification_channel": "NotificationChannelCreate",
		"vigil_status_page": "StatusPageCreate", "vigil_maintenance_window": "MaintenanceWindowCreate",
		"vigil_subscription": "SubscriptionCreate", "vigil_api_key": "KeyRequest", "vigil_location": "LocationCreate",
	} {
		have := attributes(t, name)
		lacks(t, all, name, all[schema].(map[string]any), have)
		alternatives, _ := all[schema].(map[string]any)["discriminator"].(map[string]any)
		mapping, _ := alternatives["mapping"].(map[string]any)
		for kind, ref := range mapping {
			attribute := strings.ReplaceAll(kind, "-", "_")
			if have[attribute] == nil {
				t.Errorf("%s has no attribute for the type %s", name, kind)
				continue
			}
			body := all[refName(ref.(string))].(map[string]any)["properties"].(map[string]any)
			config := body["config"].(map[string]any)["$ref"].(string)
			lacks(t, all, name+"."+attribute, all[refName(config)].(map[string]any), nested(have[attribute]))
		}
	}
}

// lacks reports each member of a schema, at any depth, that attributes lack.
func lacks(t *testing.T, all map[string]any, at string, schema map[string]any, have map[string]schema.Attribute) {
	t.Helper()
	properties, _ := schema["properties"].(map[string]any)
	for name, one := range properties {
		property := one.(map[string]any)
		if property["readOnly"] == true || name == "config" || name == "type" && have["id"] != nil || name == "type" && have["https"] != nil {
			continue
		}
		attribute := name
		if other, ok := renamed()[name]; ok {
			attribute = other
		}
		got := have[attribute]
		if got == nil {
			t.Errorf("%s has no attribute for the member %s", at, name)
			continue
		}
		if items, ok := property["items"].(map[string]any); ok {
			property = items
		}
		if ref, ok := property["$ref"].(string); ok {
			lacks(t, all, at+"."+name, all[refName(ref)].(map[string]any), nested(got))
		}
	}
}

// TestEveryMemberIsInTheSpecimens shows that the acceptance tests use and change every
// member of every check type.
func TestEveryMemberIsInTheSpecimens(t *testing.T) {
	t.Parallel()
	have := attributes(t, "vigil_check")
	for name, one := range specimens() {
		for _, member := range slices.Sorted(maps.Keys(nested(have[name]))) {
			if name == "http3" && strings.HasPrefix(member, "proxy") {
				continue // which goes over UDP: the API refuses a proxy
			}
			used := regexp.MustCompile(`\b` + member + `\s+=|\b` + member + `\s*=`)
			if !used.MatchString(one.before) && !used.MatchString(one.after) {
				t.Errorf("no specimen of %s has the member %s", name, member)
			}
		}
	}
	for name, attribute := range have {
		if nested(attribute) != nil && name != "managed_by" && specimens()[name].before == "" && !slices.Contains(extras(), name) {
			t.Errorf("no specimen has %s", name)
		}
	}
}
