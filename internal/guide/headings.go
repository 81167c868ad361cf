// SPDX-License-Identifier: Apache-2.0

package guide

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/yuin/goldmark/ast"
)

// anchors gives headings the addresses that code hosts give them, so that a link in docs works in
// both places.
type anchors struct{ used map[string]int }

var noAnchor = regexp.MustCompile(`[^a-z0-9 _-]`)

// Generate returns the address of a heading.
func (a *anchors) Generate(value []byte, _ ast.NodeKind) []byte {
	id := strings.ReplaceAll(noAnchor.ReplaceAllString(strings.ToLower(string(value)), ""), " ", "-")
	if a.used == nil {
		a.used = make(map[string]int)
	}
	times := a.used[id]
	a.used[id]++
	if times > 0 {
		id += "-" + strconv.Itoa(times)
	}
	return []byte(id)
}

// Put ignores addresses that a document gives itself: none of ours does.
func (a *anchors) Put([]byte) {}

// list is a list of links below a heading of the first page.
type list struct {
	title string
	items []item
}

// item is an entry of a list: a link, and the words behind it.
type item struct{ target, text, rest string }

// lists returns the lists below the second headings of a document whose entries begin with links.
func (d *document) lists() []list {
	var out []list
	title := ""
	for n := d.tree.FirstChild(); n != nil; n = n.NextSibling() {
		if h, ok := n.(*ast.Heading); ok && h.Level == 2 {
			title = d.words(h)
		}
		if n.Kind() != ast.KindList || title == "" {
			continue
		}
		found := list{title: title}
		for entry := n.FirstChild(); entry != nil; entry = entry.NextSibling() {
			block := entry.FirstChild()
			if block == nil {
				continue
			}
			link, ok := block.FirstChild().(*ast.Link)
			if !ok {
				continue
			}
			text := d.words(link)
			rest := strings.TrimLeft(strings.TrimPrefix(d.words(block), text), ": ")
			found.items = append(found.items, item{target: string(link.Destination), text: text, rest: rest})
		}
		if len(found.items) > 0 {
			out = append(out, found)
		}
	}
	return out
}

// section is a part of a page in the index of the search. The names are short because each of a
// thousand sections has them.
type section struct {
	Page    string `json:"p"` // title of the page
	Heading string `json:"h,omitempty"`
	URL     string `json:"u"`
	Text    string `json:"t"`
}

// sections returns the parts of a document, one for each heading.
func (d *document) sections() []section {
	out := []section{{Page: d.title, URL: d.page()}}
	var texts []string
	end := func() {
		out[len(out)-1].Text = strings.Join(texts, " ")
		texts = nil
	}
	for n := d.tree.FirstChild(); n != nil; n = n.NextSibling() {
		if h, ok := n.(*ast.Heading); ok && h.Level > 1 {
			end()
			id, _ := h.AttributeString("id")
			address, _ := id.([]byte)
			out = append(out, section{Page: d.title, Heading: d.words(h), URL: d.page() + "#" + string(address)})
			continue
		} else if ok {
			continue // the title
		}
		if words := d.words(n); words != "" {
			texts = append(texts, words)
		}
	}
	end()
	return out
}
