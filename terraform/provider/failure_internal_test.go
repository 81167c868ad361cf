// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// filled returns the value of a field whose members are absent, except the given ones.
func filled(f *field, parts map[string]tftypes.Value) tftypes.Value {
	all := map[string]tftypes.Value{}
	for _, one := range f.Members {
		if all[one.Name] = parts[one.Name]; parts[one.Name].Type() == nil {
			all[one.Name] = one.null()
		}
	}
	return tftypes.NewValue(f.tfType(), all)
}

func TestMemberOfTheAPIIsFoundAsAnAttribute(t *testing.T) {
	t.Parallel()
	check, channel, rule := shapes()["check"], shapes()["notification_channel"], shapes()["alert_rule"]
	tcp := check.object(map[string]tftypes.Value{"tcp": filled(check.member("tcp"), nil)})
	steps := check.member("multistep").member("steps")
	step := filled(steps.Elem, map[string]tftypes.Value{"https": filled(steps.Elem.member("https"), nil)})
	multistep := check.object(map[string]tftypes.Value{"multistep": filled(check.member("multistep"), map[string]tftypes.Value{
		"steps": tftypes.NewValue(steps.tfType(), []tftypes.Value{step}),
	})})
	webhook := channel.member("webhook")
	hook := channel.object(map[string]tftypes.Value{"webhook": filled(webhook, map[string]tftypes.Value{"secret_wo": text("x")})})
	for _, one := range []struct {
		shape  *shape
		values tftypes.Value
		member string
		want   string
	}{
		{check, tcp, "config.port", "tcp.port"},
		{check, tcp, "interval_seconds", "interval_seconds"},
		{check, tcp, "config.nothing", "tcp"},
		{check, tcp, "", ""},
		{check, multistep, "config.steps[0].config.url", "multistep.steps[0].https.url"},
		{check, multistep, "config.steps[7].name", "multistep.steps"},
		{channel, hook, "config.secret", "webhook.secret_wo"},
		{rule, rule.object(nil), "notification_channel_ids", "channel_ids"},
		{rule, rule.object(nil), "condition.failure_threshold", "condition.failure_threshold"},
	} {
		if got := one.shape.pathOf(one.member, one.values).String(); got != one.want {
			t.Errorf("%s is at %q, not at %q", one.member, got, one.want)
		}
	}
}

func TestWarningsStandAtTheirAttributes(t *testing.T) {
	t.Parallel()
	said := "regions: af-south-jnb has no worker, so the check is not probed from there until one runs."
	got := shapes()["check"].warnings(map[string]any{"name": "Far", "warnings": []any{said}})
	if len(got) != 1 || got.HasError() || got[0].Detail() != said {
		t.Fatalf("warnings %v", got)
	}
	if at, ok := got[0].(diag.DiagnosticWithPath); !ok || at.Path().String() != "regions" {
		t.Errorf("it stands at %v, want regions", got[0])
	}
	if none := shapes()["check"].warnings(map[string]any{"name": "Near"}); len(none) != 0 {
		t.Errorf("without warnings: %v", none)
	}
}
