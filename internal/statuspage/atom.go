// SPDX-License-Identifier: Apache-2.0

package statuspage

import (
	"encoding/xml"
	"fmt"
	"strings"
	"time"
)

// The elements of RFC 4287 that a feed has.
type atomFeed struct {
	XMLName xml.Name    `xml:"http://www.w3.org/2005/Atom feed"`
	ID      string      `xml:"id"`
	Title   string      `xml:"title"`
	Updated string      `xml:"updated"`
	Links   []atomLink  `xml:"link"`
	Author  string      `xml:"author>name"`
	Entries []atomEntry `xml:"entry"`
}

type atomLink struct {
	Rel  string `xml:"rel,attr"`
	Type string `xml:"type,attr"`
	Href string `xml:"href,attr"`
}

type atomEntry struct {
	ID        string   `xml:"id"`
	Title     string   `xml:"title"`
	Published string   `xml:"published"`
	Updated   string   `xml:"updated"`
	Link      atomLink `xml:"link"`
	Content   atomText `xml:"content"`
}

type atomText struct {
	Type string `xml:"type,attr"`
	Text string `xml:",chardata"`
}

// atom writes the incidents as a feed: one entry each, which changes with its updates.
func (v *view) atom() ([]byte, error) {
	feed := atomFeed{
		ID: "urn:uuid:" + v.Page.ID.String(), Title: v.Page.Title, Author: v.Page.Title,
		Links: []atomLink{{"self", "application/atom+xml", v.Feed}, {"alternate", "text/html", v.URL}},
	}
	updated := v.Page.UpdatedAt.UTC()
	for _, one := range v.entries {
		if one.changed.After(updated) {
			updated = one.changed
		}
		feed.Entries = append(feed.Entries, atomEntry{
			ID: "urn:uuid:" + one.ID.String(), Title: one.Title,
			Published: one.Start.Format(time.RFC3339), Updated: one.changed.Format(time.RFC3339),
			Link: atomLink{"alternate", "text/html", v.URL + "#i-" + one.ID.String()}, Content: atomText{"text", one.text()},
		})
	}
	feed.Updated = updated.Format(time.RFC3339)
	text, err := xml.MarshalIndent(feed, "", " ")
	if err != nil {
		return nil, fmt.Errorf("write a feed: %w", err)
	}
	return append([]byte(xml.Header), append(text, '\n')...), nil
}

// text is an incident in a feed, which names every date.
func (i *incident) text() string {
	const form = "2 January 2006, 15:04 UTC"
	lines := []string{i.Start.Format(form)}
	if !i.End.IsZero() {
		lines[0] += " to " + i.End.Format(form)
	}
	if i.From != "" {
		lines[0] += ", " + i.From
	}
	for _, u := range i.Updates {
		lines = append(lines, u.State+", "+u.At.Format(form)+": "+u.Text)
	}
	return strings.Join(lines, "\n\n")
}
