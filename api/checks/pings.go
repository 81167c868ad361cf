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

// pingStore reads what jobs reported, and where they do.
type pingStore interface {
	// PingTokens returns the tokens of heartbeats of an organization, by check.
	PingTokens(ctx context.Context, orgID uuid.UUID, checks ...uuid.UUID) (map[uuid.UUID]string, error)
	RotatePingToken(ctx context.Context, orgID, checkID uuid.UUID) error
	NewestPings(ctx context.Context, orgID, checkID uuid.UUID, limit int) ([]vigil.Ping, error)
}

// newestPings is how many pings are shown at most.
const newestPings = 100

// pingView is a ping of a job.
type pingView struct {
	Kind       vigil.PingKind `json:"kind" enum:"start,success,fail,log" doc:"What the job reported. An exit code of 0 is a success, another one a failure."`
	ReceivedAt time.Time      `json:"received_at" doc:"When the platform received it, by the clock of its database."`
	ExitCode   *int           `json:"exit_code" doc:"Exit code that the job reported; null without one."`
	RID        *uuid.UUID     `json:"rid" format:"uuid" nullable:"true" doc:"The run, as the job named it; null without."`
	Bytes      int64          `json:"bytes" doc:"Length of the body that came along."`
	Output     string         `json:"output" doc:"The end of the body, up to 10,240 characters. Values that their names call credentials are ***."`
}

// pings are the operations of heartbeats.
type pings struct {
	store     pingStore
	checks    checkReader
	publicURL string
}

// pingAddress is where jobs ping with a token of a heartbeat or a ping key.
func pingAddress(publicURL, credential string) string { return publicURL + "/p/" + credential }

// addPingURLs adds to heartbeats where their jobs ping, for callers who may change them.
func (p *pings) addPingURLs(ctx context.Context, views ...*checkView) error {
	var ids []uuid.UUID
	for _, view := range views {
		if view.Type == vigil.TypeHeartbeat {
			ids = append(ids, view.ID)
		}
	}
	if len(ids) == 0 || rest.CallerOf(ctx).Require(account.ScopeWrite) != nil {
		return nil
	}
	tokens, err := p.store.PingTokens(ctx, rest.CallerOf(ctx).Org.ID, ids...)
	if err != nil {
		return err
	}
	for _, view := range views {
		if token, ok := tokens[view.ID]; ok {
			view.PingURL = new(pingAddress(p.publicURL, token))
		}
	}
	return nil
}

// Register registers the operations of heartbeats.
func (p *pings) Register(r *rest.Registrar) {
	rest.Register(r, rest.Operation{
		Method: http.MethodGet, Path: "/v1/checks/{id}/pings", ID: "list-pings", Tag: resource.TagResults, Resource: ResourceCheck,
		Summary:     "List the newest pings of a heartbeat",
		Description: "The newest comes first. A check of another type has none.",
	}, p.list)
	rest.Register(r, rest.Operation{
		Method: http.MethodPost, Path: "/v1/checks/{id}/rotate-ping-url", ID: "rotate-ping-url", Tag: resource.TagChecks,
		Scope: account.ScopeWrite, Resource: ResourceCheck, Audit: "check.rotate_ping_url",
		Summary:     "Give a heartbeat another ping_url",
		Description: "Pings to the address before are answered with 404 from now on.",
	}, p.rotate)
}

type pingsInput struct {
	rest.IDPath
	rest.PageQuery
}

func (p *pings) list(ctx context.Context, in *pingsInput) (*rest.Listing[pingView], error) {
	check, err := findCheck(ctx, p.checks, in.ID)
	if err != nil {
		return nil, err
	}
	found, err := p.store.NewestPings(ctx, check.OrgID, check.ID, newestPings)
	if err != nil {
		return nil, err
	}
	return rest.NewListing(rest.Cut(found, in.Page()), len(found), func(ping vigil.Ping) pingView {
		return pingView{
			Kind:       ping.Kind,
			ReceivedAt: ping.At.UTC(),
			ExitCode:   ping.ExitCode,
			RID:        vigil.NilIfZero(ping.Run),
			Bytes:      ping.Bytes,
			Output:     ping.Body,
		}
	}), nil
}

// pingURLView is where a job pings.
type pingURLView struct {
	PingURL string `json:"ping_url" format:"uri"`
}

func (p *pings) rotate(ctx context.Context, in *rest.IDPath) (*rest.Answer[pingURLView], error) {
	check, err := findCheck(ctx, p.checks, in.ID)
	if err != nil {
		return nil, err
	}
	if check.Type != vigil.TypeHeartbeat {
		return nil, vigil.Invalid("type", "is %s; only a heartbeat has a ping_url", check.Type)
	}
	rest.AuditResource(ctx, check.ID)
	if err := p.store.RotatePingToken(ctx, check.OrgID, check.ID); err != nil {
		return nil, err
	}
	tokens, err := p.store.PingTokens(ctx, check.OrgID, check.ID)
	if err != nil {
		return nil, err
	}
	return rest.NewAnswer(pingURLView{pingAddress(p.publicURL, tokens[check.ID])}), nil
}
