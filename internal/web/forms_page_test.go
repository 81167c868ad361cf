// SPDX-License-Identifier: Apache-2.0

package web_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// opened is a page as a browser without scripts has it: what its form holds, and what it
// would send.
type opened struct {
	*office

	path     string
	status   int
	location string
	cookies  []string
	root     *html.Node
	raw      string

	values url.Values // of the form #check-form, or of the only one
	action string
}

// each calls a function for every element below a node.
func each(n *html.Node, do func(*html.Node)) {
	if n.Type == html.ElementNode {
		do(n)
	}
	for child := range n.ChildNodes() {
		each(child, do)
	}
}

func attr(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

func has(n *html.Node, name string) bool {
	return slices.ContainsFunc(n.Attr, func(a html.Attribute) bool { return a.Key == name })
}

func textOf(n *html.Node) string {
	if n.Type == html.TextNode {
		return n.Data
	}
	var out strings.Builder
	for child := range n.ChildNodes() {
		out.WriteString(textOf(child))
	}
	return out.String()
}

// find returns the first element that is wanted, nil without one.
func (p *opened) find(wanted func(*html.Node) bool) (found *html.Node) {
	each(p.root, func(n *html.Node) {
		if found == nil && wanted(n) {
			found = n
		}
	})
	return found
}

func (p *opened) byID(id string) *html.Node {
	return p.find(func(n *html.Node) bool { return attr(n, "id") == id })
}

// read takes the values of the form.
func (p *opened) read() {
	p.values = url.Values{}
	form := p.find(func(n *html.Node) bool {
		return n.Data == "form" && attr(n, "method") == "post" && has(n, "novalidate")
	})
	if form == nil {
		return
	}
	p.action = attr(form, "action")
	each(form, func(n *html.Node) {
		name := attr(n, "name")
		switch {
		case name == "":
		case n.Data == "textarea":
			p.values.Add(name, textOf(n))
		case n.Data == "select":
			p.values.Add(name, selected(n))
		case n.Data == "input" && (attr(n, "type") == "checkbox" || attr(n, "type") == "radio"):
			if has(n, "checked") {
				p.values.Add(name, attr(n, "value"))
			}
		case n.Data == "input":
			p.values.Add(name, attr(n, "value"))
		}
	})
}

func selected(n *html.Node) string {
	first, chosen := "", ""
	each(n, func(o *html.Node) {
		if o.Data != "option" {
			return
		}
		if first == "" {
			first = attr(o, "value")
		}
		if has(o, "selected") {
			chosen = attr(o, "value")
		}
	})
	if chosen != "" {
		return chosen
	}
	return first
}

// enter types into a field, which must be there.
func (p *opened) enter(t *testing.T, name, value string) {
	t.Helper()
	if p.field(name) == nil {
		t.Fatalf("%s has no field %s", p.path, name)
	}
	p.values.Set(name, value)
}

func (p *opened) field(name string) *html.Node {
	return p.find(func(n *html.Node) bool {
		return attr(n, "name") == name && (n.Data == "input" || n.Data == "select" || n.Data == "textarea")
	})
}

// press sends the form by a button, "" for the one that saves.
func (p *opened) press(t *testing.T, button string) *opened {
	t.Helper()
	values := url.Values{}
	for name, list := range p.values {
		for _, value := range list { // a browser writes line breaks like this
			values.Add(name, strings.ReplaceAll(strings.ReplaceAll(value, "\r\n", "\n"), "\n", "\r\n"))
		}
	}
	if button != "" {
		if p.find(func(n *html.Node) bool {
			return n.Data == "button" && attr(n, "name") == "do" && attr(n, "value") == button
		}) == nil {
			t.Fatalf("%s has no button %s", p.path, button)
		}
		values.Set("do", button)
	}
	return p.open(t, http.MethodPost, p.action, values)
}

// wrong returns the message under a field, and fails the test unless the field is marked
// and the summary on top links to it.
func (p *opened) wrong(t *testing.T, name string) string {
	t.Helper()
	n := p.field(name)
	if n == nil {
		t.Fatalf("no field %s (status %d, %s)", name, p.status, p.summary())
	}
	id := attr(n, "id")
	if attr(n, "aria-invalid") != "true" {
		t.Fatalf("%s is not marked as wrong (status %d, %s)", name, p.status, p.summary())
	}
	if p.find(func(a *html.Node) bool { return a.Data == "a" && attr(a, "href") == "#"+id }) == nil {
		t.Errorf("the summary has no link to %s: %s", name, p.summary())
	}
	for _, described := range strings.Fields(attr(n, "aria-describedby")) {
		if strings.HasSuffix(described, "-error") || described == "rule-errors" {
			return strings.TrimSpace(textOf(p.byID(described)))
		}
	}
	t.Fatalf("%s is described by no error", name)
	return ""
}

// summary is what the page says is wrong.
func (p *opened) summary() string {
	if n := p.byID("problems"); n != nil {
		return strings.Join(strings.Fields(textOf(n)), " ")
	}
	return ""
}
