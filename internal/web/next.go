// SPDX-License-Identifier: Apache-2.0

package web

import (
	"net/http"
	"net/url"
	"time"
)

// A page that was asked for without a session is kept for a while in a cookie, so that a
// sign-in by a printed or mailed link leads to it as well: such a link has no next parameter.
const (
	nextCookie = "vigil_next"
	nextAge    = time.Hour
	maxNext    = 2048 // bytes of the cookie's value
)

// keepNext keeps the page that the next sign-in leads to.
func (r *request) keepNext(page string) {
	if value := url.QueryEscape(page); len(value) <= maxNext {
		http.SetCookie(r.w, r.nextCookie(value, int(nextAge.Seconds())))
	}
}

// takeNext returns the page that was kept, once, and the dashboard's first page where there
// is none. What a browser sends is no address of ours before ownPath has seen it.
func (r *request) takeNext() string {
	cookie, err := r.Cookie(nextCookie)
	if err != nil {
		return "/app"
	}
	http.SetCookie(r.w, r.nextCookie("", -1))
	page, err := url.QueryUnescape(cookie.Value)
	if err != nil {
		return "/app"
	}
	return ownPath(page)
}

func (r *request) nextCookie(value string, age int) *http.Cookie {
	return &http.Cookie{ //nolint:gosec // Secure where browsers use TLS
		Name: nextCookie, Value: value, Path: "/app", MaxAge: age,
		HttpOnly: true, Secure: r.s.deps.Config.secure(), SameSite: http.SameSiteLaxMode,
	}
}
