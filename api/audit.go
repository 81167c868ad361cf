package api

import (
	"context"
	"log/slog"
	"maps"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"vigil"
)

// notAudited marks an operation that changes something, and is worth no entry
// in the audit log.
const notAudited = "-"

// auditView is an entry of the audit log.
type auditView struct {
	ID         uuid.UUID  `json:"id" format:"uuid"`
	CreatedAt  time.Time  `json:"created_at"`
	Action     string     `json:"action" doc:"What was done, as <resource>.<verb>." example:"check.update"`
	ResourceID *uuid.UUID `json:"resource_id" format:"uuid" nullable:"true" doc:"What it was done to; null where there is no such thing."`
	UserID     *uuid.UUID `json:"user_id" format:"uuid" nullable:"true" doc:"Whose credential it was; null when there was none."`
	APIKeyID   *uuid.UUID `json:"api_key_id" format:"uuid" nullable:"true" doc:"The API key that was used; null for a session token."`
	KeyPrefix  *string    `json:"key_prefix" doc:"How that key begins; null for a session token."`
	Members    []string   `json:"members" doc:"Names of the members that were given, never their values."`
	RequestID  string     `json:"request_id"`
	Address    string     `json:"address" doc:"IP address that the request came from." example:"192.0.2.1"`
	UserAgent  string     `json:"user_agent"`
}

func showAudit(e vigil.AuditEntry) auditView {
	view := auditView{
		ID: e.ID, CreatedAt: e.At.UTC(), Action: e.Action, ResourceID: identity(e.ResourceID), UserID: identity(e.UserID),
		APIKeyID: identity(e.KeyID), Members: append([]string{}, e.Members...), RequestID: e.RequestID, Address: e.Address, UserAgent: e.UserAgent,
	}
	if e.KeyPrefix != "" {
		view.KeyPrefix = &e.KeyPrefix
	}
	return view
}

// identity shows an id, or null for the zero one.
func identity(id uuid.UUID) *uuid.UUID {
	if id == uuid.Nil {
		return nil
	}
	return &id
}

func (s *Server) registerAudit() {
	register(s, operation{
		method: http.MethodGet, path: "/v1/audit-log", id: "list-audit-log", tag: tagAccount,
		summary:     "List what was changed in the organization, newest first",
		description: "Every change has an entry: who made it with which credential, when and from where.",
	}, func(ctx context.Context, in *struct{ PageQuery }) (*listOf[auditView], error) {
		entries, total, err := s.Store.AuditLog(ctx, caller(ctx).org.ID, in.page())
		if err != nil {
			return nil, err
		}
		return listing(entries, total, showAudit), nil
	})
}

// identified is an input that names a resource by its path.
type identified interface{ resourceID() uuid.UUID }

// audited makes what is done under ctx be noted, as action.
func audited(ctx context.Context, action string, in any) context.Context {
	req := requestOf(ctx)
	entry := &vigil.AuditEntry{Action: action, RequestID: req.id, Address: req.address.String(), UserAgent: req.agent}
	if who := req.who; who != nil {
		entry.OrgID, entry.UserID, entry.KeyID, entry.KeyPrefix = who.org.ID, who.user.ID, who.key.ID, who.key.Prefix
	}
	if in, ok := in.(identified); ok {
		entry.ResourceID = in.resourceID()
	}
	return vigil.WithAudit(ctx, entry)
}

// auditMembers notes which members a request gave.
func auditMembers[V any](ctx context.Context, members map[string]V) {
	if entry := vigil.AuditOf(ctx); entry != nil {
		entry.Members = slices.Sorted(maps.Keys(members))
	}
}

// auditResource notes what a request made.
func auditResource(ctx context.Context, id uuid.UUID) {
	if entry := vigil.AuditOf(ctx); entry != nil {
		entry.ResourceID = id
	}
}

// auditWho notes who turned out to make a request that had no credential.
func auditWho(ctx context.Context, user vigil.User) {
	if entry := vigil.AuditOf(ctx); entry != nil {
		entry.OrgID, entry.UserID = user.OrgID, user.ID
	}
}

// noted stores the entry of what succeeded without changing the database. What
// did change it was noted in the same transaction.
func (s *Server) noted(ctx context.Context) {
	if err := s.Store.RecordAudit(ctx); err != nil {
		requestOf(ctx).log().LogAttrs(ctx, slog.LevelError, "audit entry lost", slog.Any("error", err))
	}
}

// maxAgent bounds what is kept of a User-Agent.
const maxAgent = 200

// userAgent is what the caller says it is, fit to be kept.
func userAgent(r *http.Request) string {
	agent := strings.ToValidUTF8(strings.ReplaceAll(r.UserAgent(), "\x00", ""), "")
	for len(agent) > maxAgent {
		_, size := utf8.DecodeLastRuneInString(agent)
		agent = agent[:len(agent)-size]
	}
	return agent
}

// clientAddress is the address that a request came from: that of the connection,
// or, behind trusted proxies, the last one that they did not add themselves.
func clientAddress(r *http.Request, trusted []netip.Prefix) netip.Addr {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.IPv4Unspecified()
	}
	address := peer.Addr().Unmap().WithZone("")
	if len(trusted) == 0 {
		return address
	}
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for i := len(hops) - 1; i >= 0 && isTrusted(address, trusted); i-- {
		hop, err := netip.ParseAddr(strings.TrimSpace(hops[i]))
		if err != nil {
			break
		}
		address = hop.Unmap().WithZone("")
	}
	return address
}

func isTrusted(address netip.Addr, trusted []netip.Prefix) bool {
	return slices.ContainsFunc(trusted, func(p netip.Prefix) bool { return p.Contains(address) })
}
