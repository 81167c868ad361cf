// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"slices"
	"sync"

	"golang.org/x/net/publicsuffix"
)

// cookies are the cookies of one run (RFC 6265): of the redirects of an exchange, and of all steps of
// a multistep check. A site cannot set one for a public suffix, such as co.uk. The jar is made when
// the first cookie comes.
type cookies struct {
	mu     sync.Mutex
	jar    *cookiejar.Jar
	values []string // that are hidden like secrets: many are sessions
}

// maxHiddenCookies bounds how many values of cookies are hidden.
const maxHiddenCookies = 100

// SetCookies keeps the cookies of an answer.
func (c *cookies) SetCookies(from *url.URL, set []*http.Cookie) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.jar == nil {
		jar, err := cookiejar.New(&cookiejar.Options{PublicSuffixList: publicsuffix.List})
		if err != nil {
			return // it never fails
		}
		c.jar = jar
	}
	c.jar.SetCookies(from, set)
	for _, one := range set {
		if len(one.Value) >= minExtracted && len(c.values) < maxHiddenCookies && !slices.Contains(c.values, one.Value) {
			c.values = append(c.values, one.Value)
		}
	}
}

// secrets returns the values that are to be hidden.
func (c *cookies) secrets() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.values)
}

// Cookies returns those that belong into a request to an address.
func (c *cookies) Cookies(to *url.URL) []*http.Cookie {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.jar == nil {
		return nil
	}
	return c.jar.Cookies(to)
}
