// SPDX-License-Identifier: Apache-2.0

package web

import (
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/vigil-monitor/vigil"
)

// preferences are what a browser keeps of how its user likes the pages.
type preferences struct {
	Theme  string         // light or dark; empty: as the system
	Zone   *time.Location // of the times that are shown
	NoKeys bool           // single-key shortcuts are off
}

const (
	preferencesCookie = "vigil_view"
	preferencesAge    = 400 * 24 * time.Hour
)

func readPreferences(r *http.Request) preferences {
	p := preferences{Zone: time.UTC}
	cookie, err := r.Cookie(preferencesCookie)
	if err != nil {
		return p
	}
	values, err := url.ParseQuery(cookie.Value)
	if err != nil {
		return p
	}
	if theme := values.Get("theme"); slices.Contains([]string{"light", "dark"}, theme) {
		p.Theme = theme
	}
	if zone, ok := vigil.LoadZone(values.Get("zone")); ok {
		p.Zone = zone
	}
	p.NoKeys = values.Get("keys") == "off"
	return p
}

func (p *preferences) cookie(secure bool) *http.Cookie {
	values := url.Values{}
	if p.Theme != "" {
		values.Set("theme", p.Theme)
	}
	if p.Zone != time.UTC {
		values.Set("zone", p.Zone.String())
	}
	if p.NoKeys {
		values.Set("keys", "off")
	}
	return &http.Cookie{ //nolint:gosec // Secure where browsers use TLS
		Name: preferencesCookie, Value: values.Encode(), Path: "/app", MaxAge: int(preferencesAge.Seconds()),
		HttpOnly: true, Secure: secure, SameSite: http.SameSiteLaxMode,
	}
}

func (s *Server) preferenceRoutes(on *routes) {
	on.open("POST /app/preferences", s.setPreferences)
}

// setPreferences changes what was sent and goes back to the page that it was sent from.
func (s *Server) setPreferences(r *request) error {
	form, err := r.posted()
	if err != nil {
		return err
	}
	if form.Has("theme") {
		r.prefs.Theme = form.Get("theme")
	}
	if form.Has("keys") {
		r.prefs.NoKeys = form.Get("keys") == "off"
	}
	if form.Has("zone") {
		zone, ok := vigil.LoadZone(form.Get("zone"))
		if !ok {
			zone = time.UTC
		}
		r.prefs.Zone = zone
	}
	http.SetCookie(r.w, r.prefs.cookie(r.s.deps.Config.secure()))
	return r.redirect(form.Get("back"))
}
