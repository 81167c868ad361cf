// SPDX-License-Identifier: Apache-2.0

package statuspage

import (
	"bytes"
	"fmt"
	"html/template"
	"unicode/utf8"

	"github.com/vigil-monitor/vigil"
)

// Sizes of a badge, in pixels. A letter of the font is at most this wide on average.
const (
	badgePadding = 8
	letterWidth  = 7
	badgeLetters = 60 // of a name; the rest is cut
)

// svgTemplate is escaped like HTML, which is right for XML with these elements.
const svgTemplate = `<svg xmlns="http://www.w3.org/2000/svg" width="{{.Width}}" height="20" role="img" aria-label="{{.Name}}: {{.Word}}">
<title>{{.Name}}: {{.Word}}</title>
<clipPath id="r"><rect width="{{.Width}}" height="20" rx="4"/></clipPath>
<g clip-path="url(#r)"><rect width="{{.Left}}" height="20" fill="#32383f"/>
<rect x="{{.Left}}" width="{{.Right}}" height="20" fill="{{.Color}}"/></g>
<g fill="#fff" font-family="Verdana,Geneva,DejaVu Sans,sans-serif" font-size="11" text-anchor="middle">
<text x="{{.NameAt}}" y="14" textLength="{{.NameWidth}}">{{.Name}}</text>
<text x="{{.WordAt}}" y="14" textLength="{{.WordWidth}}">{{.Word}}</text>
</g></svg>
`

type badge struct {
	Name, Word, Color    string
	Width, Left, Right   int
	NameAt, WordAt       int
	NameWidth, WordWidth int
}

// badge writes the badge of a service. Its colors have a contrast to white of 4.5 at least.
func (s *service) badge() ([]byte, error) {
	name := s.name
	if utf8.RuneCountInString(name) > badgeLetters {
		name = vigil.TruncateCharacters(name, badgeLetters-1) + "…"
	}
	b := badge{Name: name, Word: s.state.String()}
	switch s.state {
	case failing:
		b.Color = "#c22a1c"
	case slow:
		b.Color = "#8f5600"
	case working:
		b.Color = "#0e7a56"
	case noData:
		b.Word, b.Color = "no data", "#626b75"
		if s.paused {
			b.Word = "paused"
		}
	}
	b.NameWidth, b.WordWidth = letterWidth*utf8.RuneCountInString(b.Name), letterWidth*len(b.Word)
	b.Left, b.Right = b.NameWidth+2*badgePadding, b.WordWidth+2*badgePadding
	b.Width, b.NameAt, b.WordAt = b.Left+b.Right, b.Left/2, b.Left+b.Right/2
	parsed, err := template.New("badge").Parse(svgTemplate)
	if err != nil {
		return nil, fmt.Errorf("read the template of badges: %w", err)
	}
	var text bytes.Buffer
	if err := parsed.Execute(&text, b); err != nil {
		return nil, fmt.Errorf("write a badge: %w", err)
	}
	return text.Bytes(), nil
}
