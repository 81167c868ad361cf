// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/api/checks"
	"github.com/vigil-monitor/vigil/api/resource"
	"github.com/vigil-monitor/vigil/api/rest"
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/internal/secret"
)

// PingStore keeps the pings of jobs.
type PingStore interface {
	// AddPing stores a ping for the heartbeat with a token, by its hash. It is committed when it
	// returns. An unknown token is a CodeNotFound error.
	AddPing(ctx context.Context, tokenHash []byte, p *vigil.Ping) error
	// AddSlugPing stores a ping for the heartbeat with a slug in the organization of a ping key, by
	// the hash of the key. It is committed when it returns. An unknown key is a CodeNotFound error
	// without a key, an unknown slug one with the key, and a slug of several heartbeats a
	// CodeConflict error.
	AddSlugPing(ctx context.Context, keyHash []byte, slug string, p *vigil.Ping) (account.PingKey, error)
}

const (
	// pingsPerMinute is how many pings of a heartbeat are accepted in a minute, and unknownPerMinute
	// how many addresses that are not known a client may try.
	pingsPerMinute   = 300
	unknownPerMinute = 60
	// pingBody is how large a body may be, and pingKept how much of its end is kept, in bytes.
	pingBody = 1 << 20
	pingKept = 100_000
	// pingToken is how long a token is, in characters.
	pingToken = 26
)

// pings answers jobs that ping. The paths are those of Healthchecks.io, so that its clients can be
// used. An answer of 200 says that the ping is committed.
type pings struct {
	store   PingStore
	limit   *rest.RateWindow // by heartbeat
	unknown *rest.RateWindow // by address
	// What makes heartbeats that do not exist, and for which organization, as far as made allows.
	checks *checks.Checks
	orgs   organizationReader
	made   *rest.RateWindow // by ping key
}

// organizationReader reads organizations.
type organizationReader interface {
	Organization(ctx context.Context, id uuid.UUID) (account.Organization, error)
}

// servePings serves the addresses of heartbeats.
func servePings(routes *resource.Routes, deps Deps, checks *checks.Checks) {
	unknown := unknownPerMinute
	if deps.Config.AddressRate == 0 {
		unknown = 0
	}
	p := &pings{
		store: deps.Stores.Pings, limit: rest.NewRateWindow(pingsPerMinute, time.Minute, deps.Now),
		unknown: rest.NewRateWindow(unknown, time.Minute, deps.Now),
		checks:  checks, orgs: deps.Stores.Accounts, made: rest.NewRateWindow(madePerMinute, time.Minute, deps.Now),
	}
	for _, method := range []string{http.MethodGet, http.MethodPost} { // HEAD comes with GET
		routes.Lenient(method+" /p/{token}", p.ServeHTTP)
		routes.Lenient(method+" /p/{token}/{signal}", p.ServeHTTP)
		routes.Lenient(method+" /p/{token}/{slug}/{signal}", p.ServeHTTP)
	}
}

// ServeHTTP stores a ping.
func (p *pings) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	made, err := p.receive(r)
	if err != nil {
		rest.WriteError(r.Context(), w, err)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Ping-Body-Limit", strconv.Itoa(pingKept))
	w.Header().Set("Cache-Control", "no-store")
	answer := "ok"
	if made {
		answer = "created"
		w.WriteHeader(http.StatusCreated)
	}
	_, _ = io.WriteString(w, answer) // the client may be gone
}

// receive reads and stores a ping, and reports whether it made the heartbeat.
func (p *pings) receive(r *http.Request) (made bool, err error) {
	to := pingTarget{token: r.PathValue("token"), slug: r.PathValue("slug")}
	signal := r.PathValue("signal")
	byKey := strings.HasPrefix(to.token, account.PingKeyPrefix)
	switch {
	case byKey && to.slug == "":
		to.slug, signal = signal, ""
	case !byKey && to.slug != "":
		return false, p.notFound(r)
	}
	if byKey {
		if err := to.readSlug(r); err != nil {
			return false, err
		}
	}
	ping, err := pingOf(r, signal)
	if err != nil {
		return false, err
	}
	if err := readPingBody(r, to.token, &ping); err != nil {
		return false, err
	}
	if byKey {
		return p.addBySlug(r, to, ping)
	}
	return false, p.add(r, to.token, ping)
}

// add stores a ping within the limits.
func (p *pings) add(r *http.Request, token string, ping vigil.Ping) error {
	if len(token) != pingToken {
		return p.notFound(r)
	}
	if err := p.limited(token); err != nil {
		return err
	}
	hash := sha256.Sum256([]byte(token))
	err := p.store.AddPing(r.Context(), hash[:], &ping)
	if vigil.ErrorCode(err) == vigil.CodeNotFound {
		return p.notFound(r)
	}
	return err
}

// limited counts a ping of a heartbeat, and is the error of one too many.
func (p *pings) limited(heartbeat string) error {
	if wait := p.limit.Count(heartbeat); wait > 0 {
		return rest.ErrTooMany("The job pings more than "+strconv.Itoa(pingsPerMinute)+" times a minute", wait)
	}
	return nil
}

// notFound is the error of an address that is not known. A client that tries many is slowed down.
func (p *pings) notFound(r *http.Request) error {
	if wait := p.unknown.Count(rest.Network(rest.RequestOf(r.Context()).Address)); wait > 0 {
		return rest.ErrTooMany("Too many unknown heartbeats from this address", wait)
	}
	return vigil.NotFound("heartbeat")
}

// pingOf reads what a ping says from the end and the parameters of its address.
func pingOf(r *http.Request, signal string) (vigil.Ping, error) {
	ping := vigil.Ping{Kind: vigil.PingSuccess}
	switch signal {
	case "":
	case "start", "fail", "log":
		ping.Kind = vigil.PingKind(signal)
	default:
		code, err := strconv.ParseUint(signal, 10, 8)
		if err != nil {
			return ping, vigil.Errorf(vigil.CodeNotFound, "The end of the address must be start, fail, log, an exit code from 0 to 255, or nothing.")
		}
		if ping.ExitCode = new(int(code)); code != 0 {
			ping.Kind = vigil.PingFail
		}
	}
	if text := r.URL.Query().Get("rid"); text != "" {
		run, err := uuid.Parse(text)
		if err != nil || len(text) != len(run.String()) {
			return ping, vigil.Invalid("rid", "must be a UUID, such as 123e4567-e89b-12d3-a456-426614174000")
		}
		ping.Run = run
	}
	return ping, nil
}

// readPingBody reads the body of a ping and keeps its end, without what its names call a credential
// and without the token. A longer one is refused, also one that has not said its length before.
func readPingBody(r *http.Request, token string, ping *vigil.Ping) error {
	if r.Method != http.MethodPost || r.Body == nil {
		return nil
	}
	var kept []byte
	part := make([]byte, 32<<10)
	for {
		n, err := r.Body.Read(part)
		ping.Bytes += int64(n)
		if kept = append(kept, part[:n]...); len(kept) > 2*pingKept {
			kept = append(kept[:0], kept[len(kept)-pingKept:]...)
		}
		if ping.Bytes > pingBody {
			return rest.ErrTooLarge(pingBody)
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return vigil.Errorf(vigil.CodeInvalid, "The body of the ping did not arrive.")
		}
	}
	kept = kept[max(0, len(kept)-pingKept):]
	text := vigil.CleanText(string(kept))
	ping.Body = strings.ReplaceAll(secret.MaskOutput(text), token, secret.Mask)
	return nil
}
