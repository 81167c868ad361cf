// SPDX-License-Identifier: Apache-2.0

package web

import (
	"fmt"
	"net/http"
	"strconv"
)

// mostOnTab is the largest number that the icon of a tab has room for.
const mostOnTab = 99

// Tab is the title of the page's tab: with how many checks fail, which its icon shows too.
func (p *page) Tab() string {
	if n := p.Menu.Failing; n > 0 {
		return "(" + strconv.FormatInt(n, 10) + ") " + p.Title
	}
	return p.Title
}

// TabIcon is the address of the icon of the page's tab; empty: that of Vigil.
func (p *page) TabIcon() string {
	if n := p.Menu.Failing; n > 0 {
		return "/app/tab-icon/" + strconv.FormatInt(min(n, mostOnTab), 10)
	}
	return ""
}

// tabIconText is the icon with a number: the mark of Vigil, and the number over its corner.
const tabIconText = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 20 20"><rect width="20" height="20" rx="5" fill="#15181c"/>` +
	`<path d="m3 3.5 3.5 5 3.5-5" fill="none" stroke="#fff" stroke-width="1.9" stroke-linecap="round" stroke-linejoin="round"/>` +
	`<rect x="%d" y="6" width="%d" height="14" rx="4" fill="#c22a1c"/>` +
	`<text x="%g" y="17.2" font-family="sans-serif" font-weight="700" font-size="12" text-anchor="middle" fill="#fff">%d</text></svg>`

// tabIcon draws the icon of a tab while checks fail. It is the same for everybody.
func (s *Server) tabIcon(r *request) error {
	n, err := strconv.Atoi(r.PathValue("failing"))
	if err != nil || n < 1 || n > mostOnTab {
		http.NotFound(r.w, r.Request)
		return nil
	}
	left := 9
	if n > 9 {
		left = 4
	}
	h := r.w.Header()
	h.Set("Content-Type", "image/svg+xml")
	h.Set("Cache-Control", "public, max-age=86400")
	_, err = fmt.Fprintf(r.w, tabIconText, left, 20-left, float64(left+20)/2, n)
	return err
}
