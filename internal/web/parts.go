// SPDX-License-Identifier: Apache-2.0

package web

import (
	"html/template"
)

// icon is a drawing of the sprite: a glyph of the navigation or of a button. Its word is
// beside it.
type icon struct{ Name string }

func newIcon(name string) icon { return icon{name} }

// mark is the mark of a state: a shape and a word. The names of the states are those of
// the sprite: up, down, warn, vote, unknown, missed, paused, done, failed, person.
type mark struct {
	State string
	Word  string
	// Shown says that the word stands beside the mark already, so that readers need no
	// second one.
	Shown bool
	ID    string // of the element, for a mark that changes while the page is open
}

func newMark(state, word string) mark { return mark{State: state, Word: word} }

// badge is a tinted word with its mark: at most one in a header.
type badge struct {
	State string
	Text  string
	Age   stamp // after the text; none for a state without one
	Plain bool  // without a mark
}

// fact is a line of a facts list.
type fact struct {
	Name  string
	Value string
	Link  string // of the value; empty for none
	Mono  bool
	Time  *stamp
	HTML  template.HTML // instead of Value; made by a template of ours
}

// link is a link with its text.
type link struct {
	Text, Href string
	Out        bool // leads out of the dashboard
}

// choice is one of a row of segments, of which one is chosen. It is a link: the choice is
// a part of the URL.
type choice struct {
	Text, Href string
	State      string // of its mark; empty for none
	Count      string
	Chosen     bool
	ID         string // of the count, when it changes while the page is open
}

// empty is what a page shows instead of an empty list.
type empty struct {
	Icon, Title, Text string
	Due               stamp  // of the first slot of a check that waits for it
	After             string // after it
	Action            *link
	Key               string
}

// confirm asks before something is deleted.
type confirm struct {
	Title, Text string
	Names       []string // of what is deleted
	More        int      // that are not named
	Action      string   // path to post to
	Button      string
	Back        string
	Fields      map[string][]string // posted with it
}
