// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"context"
	"io"
	"net/http"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil/client"
)

// place names an object of the API: its id, and that of the check that has it.
type place struct{ ID, Check uuid.UUID }

// kind is one kind of object: its schemas, its operations and what Terraform adds.
type kind struct {
	Name   string // of the resource, without vigil_
	Noun   string // for people, and for `vigil release`
	Doc    string
	Create string // schema of the body that creates one
	Answer string // schema of what the API returns

	Labels  bool // has labels, so that the default ones apply
	Managed bool // has managed_by, and a revision

	// Defaults are what the API does without a member, where the document does not say it.
	Defaults map[string]any
	// Replace are the members whose change needs another object.
	Replace []string
	// Lookup are the members that an import may name instead of the id, such as slug:shop.
	Lookup []string
	// Shown are more members of the answer that the state has.
	Shown []string
	// Secret is the member that the answer of a create alone has, and the state keeps; empty for none.
	Secret, SecretDoc string

	calls
}

// edit changes a request before it is sent.
type edit = client.RequestEditorFn

// calls are the operations of the generated client.
type calls struct {
	create func(ctx context.Context, c *client.Client, at place, body io.Reader, more edit) (*http.Response, error)
	read   func(ctx context.Context, c *client.Client, at place) (*http.Response, error)
	update func(ctx context.Context, c *client.Client, at place, body io.Reader, more edit) (*http.Response, error)
	remove func(ctx context.Context, c *client.Client, at place, more edit) (*http.Response, error)
	list   func(ctx context.Context, c *client.Client, more edit) (*http.Response, error)
}

const contentType = "application/json"

// kinds returns the resources, by name.
func kinds() []*kind {
	return []*kind{checkKind(), ruleKind(), channelKind(), pageKind(), windowKind(), subscriptionKind(), keyKind(), locationKind()}
}

func checkKind() *kind {
	return &kind{
		Name: "check", Noun: "check", Create: "CheckCreate", Answer: "Check", Labels: true, Managed: true, Lookup: []string{"name"},
		Shown: []string{pingName},
		Doc: "A check probes a target from one or more regions. Exactly one of the nested attributes, such as `https`, " +
			"says what is probed; another one changes the type of the check, which keeps its id and its history.",
		calls: calls{
			create: func(ctx context.Context, c *client.Client, _ place, body io.Reader, more edit) (*http.Response, error) {
				return c.CreateCheckWithBody(ctx, nil, contentType, body, more)
			},
			read: func(ctx context.Context, c *client.Client, at place) (*http.Response, error) {
				return c.GetCheck(ctx, at.ID, nil)
			},
			update: func(ctx context.Context, c *client.Client, at place, body io.Reader, more edit) (*http.Response, error) {
				return c.UpdateCheckWithBody(ctx, at.ID, nil, contentType, body, more)
			},
			remove: func(ctx context.Context, c *client.Client, at place, more edit) (*http.Response, error) {
				return c.DeleteCheck(ctx, at.ID, nil, more)
			},
			list: func(ctx context.Context, c *client.Client, more edit) (*http.Response, error) {
				return c.ListChecks(ctx, nil, more)
			},
		},
	}
}

func ruleKind() *kind {
	return &kind{
		Name: "alert_rule", Noun: "rule", Create: "AlertRuleCreate", Answer: "AlertRule", Labels: true, Managed: true,
		Replace: []string{"check_id"},
		Doc:     "An alert rule says when a check opens an incident, and which channels are notified.",
		calls: calls{
			create: func(ctx context.Context, c *client.Client, at place, body io.Reader, more edit) (*http.Response, error) {
				return c.CreateAlertRuleWithBody(ctx, at.Check, nil, contentType, body, more)
			},
			read: func(ctx context.Context, c *client.Client, at place) (*http.Response, error) {
				return c.GetAlertRuleById(ctx, at.ID, nil)
			},
			update: func(ctx context.Context, c *client.Client, at place, body io.Reader, more edit) (*http.Response, error) {
				return c.UpdateAlertRuleWithBody(ctx, at.Check, at.ID, nil, contentType, body, more)
			},
			remove: func(ctx context.Context, c *client.Client, at place, more edit) (*http.Response, error) {
				return c.DeleteAlertRule(ctx, at.Check, at.ID, nil, more)
			},
			list: func(ctx context.Context, c *client.Client, more edit) (*http.Response, error) {
				return c.ListAllAlertRules(ctx, nil, more)
			},
		},
	}
}

func channelKind() *kind {
	return &kind{
		Name: "notification_channel", Noun: "channel", Create: "NotificationChannelCreate", Answer: "NotificationChannel",
		Labels: true, Managed: true, Lookup: []string{"name"}, Replace: []string{"type"},
		Doc: "A notification channel says where messages about incidents go. Exactly one of the nested attributes, such as " +
			"`webhook`, is given; another one makes another channel, since the type of a channel cannot change.",
		calls: calls{
			create: func(ctx context.Context, c *client.Client, _ place, body io.Reader, more edit) (*http.Response, error) {
				return c.CreateNotificationChannelWithBody(ctx, nil, contentType, body, more)
			},
			read: func(ctx context.Context, c *client.Client, at place) (*http.Response, error) {
				return c.GetNotificationChannel(ctx, at.ID, nil)
			},
			update: func(ctx context.Context, c *client.Client, at place, body io.Reader, more edit) (*http.Response, error) {
				return c.UpdateNotificationChannelWithBody(ctx, at.ID, nil, contentType, body, more)
			},
			remove: func(ctx context.Context, c *client.Client, at place, more edit) (*http.Response, error) {
				return c.DeleteNotificationChannel(ctx, at.ID, nil, more)
			},
			list: func(ctx context.Context, c *client.Client, more edit) (*http.Response, error) {
				return c.ListNotificationChannels(ctx, nil, more)
			},
		},
	}
}

func pageKind() *kind {
	return &kind{
		Name: "status_page", Noun: "status-page", Create: "StatusPageCreate", Answer: "StatusPage", Managed: true,
		Lookup: []string{"slug"}, Shown: []string{"url"},
		Defaults: map[string]any{"noindex": false, "accent": "", "host": "", "response_times": false, "subscriptions": false},
		Doc:      "A status page shows the public how some checks are.",
		calls: calls{
			create: func(ctx context.Context, c *client.Client, _ place, body io.Reader, more edit) (*http.Response, error) {
				return c.CreateStatusPageWithBody(ctx, nil, contentType, body, more)
			},
			read: func(ctx context.Context, c *client.Client, at place) (*http.Response, error) {
				return c.GetStatusPage(ctx, at.ID, nil)
			},
			update: func(ctx context.Context, c *client.Client, at place, body io.Reader, more edit) (*http.Response, error) {
				return c.UpdateStatusPageWithBody(ctx, at.ID, nil, contentType, body, more)
			},
			remove: func(ctx context.Context, c *client.Client, at place, more edit) (*http.Response, error) {
				return c.DeleteStatusPage(ctx, at.ID, nil, more)
			},
			list: func(ctx context.Context, c *client.Client, more edit) (*http.Response, error) {
				return c.ListStatusPages(ctx, nil, more)
			},
		},
	}
}

func windowKind() *kind {
	return &kind{
		Name: "maintenance_window", Noun: "maintenance", Create: "MaintenanceWindowCreate", Answer: "MaintenanceWindow", Managed: true,
		Defaults: map[string]any{"probing": "continue", "uptime": "exclude", "timezone": "UTC"},
		Doc:      "A maintenance window says when checks are expected to fail, so that no incident of them opens.",
		calls: calls{
			create: func(ctx context.Context, c *client.Client, _ place, body io.Reader, more edit) (*http.Response, error) {
				return c.CreateMaintenanceWindowWithBody(ctx, nil, contentType, body, more)
			},
			read: func(ctx context.Context, c *client.Client, at place) (*http.Response, error) {
				return c.GetMaintenanceWindow(ctx, at.ID, nil)
			},
			update: func(ctx context.Context, c *client.Client, at place, body io.Reader, more edit) (*http.Response, error) {
				return c.UpdateMaintenanceWindowWithBody(ctx, at.ID, nil, contentType, body, more)
			},
			remove: func(ctx context.Context, c *client.Client, at place, more edit) (*http.Response, error) {
				return c.DeleteMaintenanceWindow(ctx, at.ID, nil, more)
			},
			list: func(ctx context.Context, c *client.Client, more edit) (*http.Response, error) {
				return c.ListMaintenanceWindows(ctx, nil, more)
			},
		},
	}
}

func subscriptionKind() *kind {
	return &kind{
		Name: "subscription", Noun: "subscription", Create: "SubscriptionCreate", Answer: "Subscription", Managed: true,
		Doc: "A subscription lets a channel receive events without being named by an alert rule.",
		calls: calls{
			create: func(ctx context.Context, c *client.Client, _ place, body io.Reader, more edit) (*http.Response, error) {
				return c.CreateSubscriptionWithBody(ctx, nil, contentType, body, more)
			},
			read: func(ctx context.Context, c *client.Client, at place) (*http.Response, error) {
				return c.GetSubscription(ctx, at.ID, nil)
			},
			update: func(ctx context.Context, c *client.Client, at place, body io.Reader, more edit) (*http.Response, error) {
				return c.UpdateSubscriptionWithBody(ctx, at.ID, nil, contentType, body, more)
			},
			remove: func(ctx context.Context, c *client.Client, at place, more edit) (*http.Response, error) {
				return c.DeleteSubscription(ctx, at.ID, nil, more)
			},
			list: func(ctx context.Context, c *client.Client, more edit) (*http.Response, error) {
				return c.ListSubscriptions(ctx, nil, more)
			},
		},
	}
}

func keyKind() *kind {
	return &kind{
		Name: "api_key", Noun: "api-key", Create: "KeyRequest", Answer: "Key", Replace: []string{"name", "scopes", "expires_at"},
		Shown: []string{"key_prefix"}, Secret: "api_key", SecretDoc: "The key.",
		Doc: "An API key. Every change makes another key. The key itself is in the state, and in the answer that creates it " +
			"only, so a key cannot be imported.",
		calls: calls{
			create: func(ctx context.Context, c *client.Client, _ place, body io.Reader, more edit) (*http.Response, error) {
				return c.CreateApiKeyWithBody(ctx, nil, contentType, body, more)
			},
			remove: func(ctx context.Context, c *client.Client, at place, more edit) (*http.Response, error) {
				return c.DeleteApiKey(ctx, at.ID, more)
			},
			list: func(ctx context.Context, c *client.Client, more edit) (*http.Response, error) {
				return c.ListApiKeys(ctx, nil, more)
			},
		},
	}
}

func locationKind() *kind {
	return &kind{
		Name: "location", Noun: "location", Create: "LocationCreate", Answer: "Location", Labels: true, Replace: []string{keyName},
		Lookup: []string{"name", keyName}, Shown: []string{"token_prefix"},
		Secret: "token", SecretDoc: "What agents connect with. It is in the state; after an import it is null.",
		Doc: "A location is a place of the organization that its own agents probe from. Checks name its `key` in `regions`.",
		calls: calls{
			create: func(ctx context.Context, c *client.Client, _ place, body io.Reader, more edit) (*http.Response, error) {
				return c.CreateLocationWithBody(ctx, nil, contentType, body, more)
			},
			read: func(ctx context.Context, c *client.Client, at place) (*http.Response, error) {
				return c.GetLocation(ctx, at.ID, nil)
			},
			update: func(ctx context.Context, c *client.Client, at place, body io.Reader, more edit) (*http.Response, error) {
				return c.UpdateLocationWithBody(ctx, at.ID, nil, contentType, body, more)
			},
			remove: func(ctx context.Context, c *client.Client, at place, more edit) (*http.Response, error) {
				return c.DeleteLocation(ctx, at.ID, nil, more)
			},
			list: func(ctx context.Context, c *client.Client, more edit) (*http.Response, error) {
				return c.ListLocations(ctx, nil, more)
			},
		},
	}
}
