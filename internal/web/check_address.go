// SPDX-License-Identifier: Apache-2.0

package web

import (
	"maps"
	"net/url"
	"slices"
	"strings"
)

// scheme is what an address of the member gets when it has none; empty for what is no address.
func (m *member) scheme() string {
	scheme, _, ok := strings.Cut(m.sample, "://")
	if !ok || m.input != asText {
		return ""
	}
	return scheme
}

// isHost reports whether the member is the host of a target.
func (m *member) isHost() bool { return m.input == asText && (m.name == "host" || m.name == "domain") }

// secrecy says when a browser must not keep what was typed into the member.
func (m *member) secrecy(path string) string {
	switch {
	case m.input == asSecret || m.input == asSecretArea:
		return "always"
	case m.maskedWhere != "":
		return "if:" + strings.TrimSuffix(path, m.name) + m.maskedWhere
	case m.maskQuery, m.scheme() != "":
		return "query"
	}
	return ""
}

// readAddresses completes addresses that have no scheme, and takes the host of an address where a host
// is asked for. The API is strict; what was made of them is said in the form.
func (c *checkForm) readAddresses() {
	c.read = make(map[string]string)
	c.readAddressesAt(c.members(), "config")
	for _, i := range c.typed.rows("config.steps") {
		step := element("config.steps", i)
		c.readAddressesAt(c.types.members(c.typed.Get(step+".type")), step+".config")
	}
}

func (c *checkForm) readAddressesAt(members []member, path string) {
	for i := range members {
		m := &members[i]
		at := path + "." + m.name
		text := strings.TrimSpace(c.typed.Get(at))
		switch {
		case m.input == asGroup:
			c.readAddressesAt(m.members, at)
		case m.scheme() != "":
			if full := withScheme(text, m.scheme()); full != text {
				c.typed.Set(at, full)
				c.read[at] = "Read as " + withoutQuery(full) + "."
			}
		case m.isHost() && strings.Contains(text, "://"):
			c.readHost(path, at, text)
		}
	}
}

// readHost takes the host of an address, and its port where none was typed.
func (c *checkForm) readHost(path, at, text string) {
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" {
		return
	}
	c.typed.Set(at, u.Hostname())
	c.read[at] = "Of the address, its host " + u.Hostname() + " is used."
	port := path + ".port"
	if _, asked := c.typed.Values[port]; asked && u.Port() != "" && c.typed.Get(port) == "" {
		c.typed.Set(port, u.Port())
		c.read[port] = "The port of the address."
	}
}

// withScheme gives an address without a scheme one. What is no address is left for the API to refuse: a
// host has a dot or a port, or is localhost.
func withScheme(text, scheme string) string {
	if text == "" || strings.Contains(text, "://") || strings.ContainsAny(text, " \t\r\n\\@") {
		return text
	}
	u, err := url.Parse(scheme + "://" + strings.TrimPrefix(text, "//"))
	if err != nil || u.Hostname() == "" {
		return text
	}
	host := u.Hostname()
	if strings.Contains(host, ".") || strings.Contains(host, ":") || u.Port() != "" || host == "localhost" {
		return scheme + "://" + strings.TrimPrefix(text, "//")
	}
	return text
}

// withoutQuery is an address as a note shows it: its parameters may be secret.
func withoutQuery(text string) string {
	address, _, _ := strings.Cut(text, "?")
	return address
}

// withAddresses adds to a message what was made of addresses.
func (c *checkForm) withAddresses(message string) string {
	for _, at := range slices.Sorted(maps.Keys(c.read)) {
		if !strings.HasSuffix(at, ".port") {
			message += " " + c.read[at]
		}
	}
	return strings.Replace(message, "Saved ", "Saved. ", 1)
}
