// SPDX-License-Identifier: Apache-2.0

package api

import (
	"crypto/sha256"
	"net/http"
	"regexp"
	"strconv"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/api/rest"
	"github.com/vigil-monitor/vigil/internal/account"
)

// madePerMinute is how many heartbeats a ping key may make in a minute.
const madePerMinute = 5

// pingTarget is what an address says of the heartbeat that is pinged.
type pingTarget struct {
	// token is that of a heartbeat, or a ping key.
	token string
	// slug of a heartbeat of the organization of the key; empty with the token of a heartbeat.
	slug string
	// create: the heartbeat is made when it does not exist.
	create bool
}

// slugPattern is what the slugs of heartbeats have: the slug of a slug is itself, so that a heartbeat
// that is named by its slug has it.
var slugPattern = regexp.MustCompile(`^[a-z0-9_]+(-[a-z0-9_]+)*$`)

// maxSlug is the length of the longest slug, which is that of a name, in characters.
const maxSlug = 200

// readSlug judges the slug and reads the parameter create.
func (t *pingTarget) readSlug(r *http.Request) error {
	switch {
	case t.slug == "":
		return vigil.Errorf(vigil.CodeNotFound, "A ping key needs the slug of a heartbeat: /p/<ping key>/<slug>.")
	case len(t.slug) > maxSlug || !slugPattern.MatchString(t.slug):
		return vigil.Invalid("slug",
			"must have 1 to %d of a-z, 0-9 and _, with single hyphens between them; that of the name Nightly backup is nightly-backup", maxSlug)
	}
	switch r.URL.Query().Get("create") {
	case "", "0":
	case "1":
		t.create = true
	default:
		return vigil.Invalid("create", "must be 1, which makes a heartbeat that does not exist, or 0")
	}
	return nil
}

// addBySlug stores a ping within the limits, and reports whether it made the heartbeat.
func (p *pings) addBySlug(r *http.Request, to pingTarget, ping vigil.Ping) (made bool, err error) {
	if len(to.token) != account.PingKeyLength {
		return false, p.notFound(r)
	}
	if err := p.limited(to.token + "/" + to.slug); err != nil {
		return false, err
	}
	hash := sha256.Sum256([]byte(to.token))
	key, err := p.store.AddSlugPing(r.Context(), hash[:], to.slug, &ping)
	if vigil.ErrorCode(err) == vigil.CodeNotFound && key.ID != uuid.Nil && to.create {
		if made, err = p.make(r, key, to.slug); err == nil {
			_, err = p.store.AddSlugPing(r.Context(), hash[:], to.slug, &ping)
		}
	}
	if vigil.ErrorCode(err) == vigil.CodeNotFound {
		if refused := p.notFound(r); key.ID == uuid.Nil || vigil.ErrorCode(refused) == vigil.CodeRateLimited {
			return false, refused
		}
	}
	if err != nil {
		return false, err
	}
	return made, nil
}

// make makes the heartbeat with a slug for a ping key.
func (p *pings) make(r *http.Request, key account.PingKey, slug string) (made bool, err error) {
	if wait := p.made.Count(key.ID.String()); wait > 0 {
		return false, rest.ErrTooMany("The ping key made "+strconv.Itoa(madePerMinute)+" heartbeats in a minute", wait)
	}
	org, err := p.orgs.Organization(r.Context(), key.OrgID)
	if err != nil {
		return false, err
	}
	return p.checks.CreatePinged(r.Context(), org, key, slug)
}
