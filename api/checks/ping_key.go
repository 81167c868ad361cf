// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"context"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/api/resource"
	"github.com/vigil-monitor/vigil/api/rest"
	"github.com/vigil-monitor/vigil/internal/account"
)

// pingKeyStore keeps the ping keys of organizations.
type pingKeyStore interface {
	PingKey(ctx context.Context, orgID uuid.UUID) (account.PingKey, error)
	CreatePingKey(ctx context.Context, orgID uuid.UUID) (account.PingKey, error)
	RotatePingKey(ctx context.Context, orgID uuid.UUID) (account.PingKey, error)
	DeletePingKey(ctx context.Context, orgID uuid.UUID) error
}

// pingedStore makes heartbeats that pings ask for.
type pingedStore interface {
	CreatePinged(
		ctx context.Context, key account.PingKey, slug string, check vigil.Check, plan account.Plan, allow account.Allowance,
	) (vigil.Check, bool, error)
}

// pingKeys are the operations of the ping key of an organization.
type pingKeys struct {
	store     pingKeyStore
	publicURL string
}

// pingKeyView is a ping key.
type pingKeyView struct {
	ID        uuid.UUID `json:"id" format:"uuid" doc:"Stays when the key is rotated. The audit log has it as api_key_id."`
	PingKey   string    `json:"ping_key" doc:"The key. It can ping and create heartbeats, and nothing else." example:"vgp_k3v7q2m5x4c6b8n9z2l3j5h7g4"`
	KeyPrefix string    `json:"key_prefix" doc:"The first characters of the key, as the audit log has them." example:"vgp_k3v7q2m5"`
	PingURL   string    `json:"ping_url" format:"uri" doc:"Where jobs ping, followed by / and the slug of a heartbeat." example:"https://vigil.example.com/p/vgp_k3v7q2m5x4c6b8n9z2l3j5h7g4"`
	CreatedAt time.Time `json:"created_at"`
	RotatedAt time.Time `json:"rotated_at" doc:"When this key was made: at first as created_at."`
}

func (p *pingKeys) show(key account.PingKey, err error) (*rest.Answer[pingKeyView], error) {
	if err != nil {
		return nil, err
	}
	return rest.NewAnswer(pingKeyView{
		ID: key.ID, PingKey: key.Key, KeyPrefix: key.Prefix, PingURL: pingAddress(p.publicURL, key.Key),
		CreatedAt: key.CreatedAt, RotatedAt: key.RotatedAt,
	}), nil
}

// Register registers the operations of the ping key. Their scope is that of checks: those who may write
// checks see the address of every heartbeat and create heartbeats, which is all that the key can do.
func (p *pingKeys) Register(r *rest.Registrar) {
	const path = "/v1/ping-key"
	rest.Register(r, rest.Operation{
		Method: http.MethodGet, Path: path, ID: "get-ping-key", Tag: resource.TagKeys, Scope: account.ScopeWrite,
		Errors:  []int{http.StatusNotFound},
		Summary: "Get the ping key of the organization",
	}, func(ctx context.Context, _ *struct{}) (*rest.Answer[pingKeyView], error) {
		return p.show(p.store.PingKey(ctx, rest.CallerOf(ctx).Org.ID))
	})
	rest.Register(r, rest.Operation{
		Method: http.MethodPost, Path: path, ID: "create-ping-key", Tag: resource.TagKeys, Scope: account.ScopeWrite,
		Status: http.StatusCreated, Audit: "ping_key.create", Errors: []int{http.StatusConflict},
		Summary: "Make the ping key of the organization",
		Description: "With it jobs ping heartbeats by their slugs, at `/p/<ping key>/<slug>`, and with `?create=1` they make those " +
			"that do not exist. An organization has at most one.",
	}, func(ctx context.Context, _ *struct{}) (*rest.Answer[pingKeyView], error) {
		return p.show(p.store.CreatePingKey(ctx, rest.CallerOf(ctx).Org.ID))
	})
	rest.Register(r, rest.Operation{
		Method: http.MethodPost, Path: path + "/rotate", ID: "rotate-ping-key", Tag: resource.TagKeys, Scope: account.ScopeWrite,
		Audit: "ping_key.rotate", Errors: []int{http.StatusNotFound},
		Summary:     "Give the organization another ping key",
		Description: "Pings with the key before are answered with 404 from now on.",
	}, func(ctx context.Context, _ *struct{}) (*rest.Answer[pingKeyView], error) {
		return p.show(p.store.RotatePingKey(ctx, rest.CallerOf(ctx).Org.ID))
	})
	rest.Register(r, rest.Operation{
		Method: http.MethodDelete, Path: path, ID: "delete-ping-key", Tag: resource.TagKeys, Scope: account.ScopeWrite,
		Status: http.StatusNoContent, Audit: "ping_key.delete", Errors: []int{http.StatusNotFound},
		Summary:     "Revoke the ping key of the organization",
		Description: "Pings with it are answered with 404 from now on. The heartbeats stay, and so do their `ping_url`.",
	}, func(ctx context.Context, _ *struct{}) (*struct{}, error) {
		return nil, p.store.DeletePingKey(ctx, rest.CallerOf(ctx).Org.ID)
	})
}

// pingedConfig is the config of a heartbeat that a ping makes: once a day, with a grace of an hour,
// as Healthchecks.io has it.
const pingedConfig = `{"schedule":{"every_seconds":86400},"grace_seconds":3600}`

// CreatePinged makes the heartbeat with a slug that a ping with a ping key asks for; its name is the
// slug. It reports false, and makes none, where the organization has one. What the plan does not
// allow is the error of any new check. The audit log names the key.
func (c *Checks) CreatePinged(ctx context.Context, org account.Organization, key account.PingKey, slug string) (created bool, err error) {
	ctx = rest.WithAudit(ctx, "check.create", nil)
	rest.AuditPingKey(ctx, key)
	who := &rest.Caller{Org: org, Key: account.APIKey{ID: key.ID, Prefix: key.Prefix}}
	plan := c.Plans.Of(who)
	members := CheckMembers{
		Name:   rest.Field[string]{Value: slug, Given: true},
		Type:   rest.Field[vigil.CheckType]{Value: vigil.TypeHeartbeat, Given: true},
		Config: rest.Field[rest.Object]{Value: rest.Object(pingedConfig), Given: true},
	}
	check, err := c.newCheck(&members, plan)
	if err != nil {
		return false, err
	}
	allow, err := c.admit(ctx, who, &check, plan)
	if err != nil {
		return false, err
	}
	if check, created, err = c.store.CreatePinged(ctx, key, slug, check, plan, allow); err != nil || !created {
		return false, err
	}
	c.Notifier.ApplyLoops(ctx, check, nil)
	return true, nil
}
