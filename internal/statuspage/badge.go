// SPDX-License-Identifier: Apache-2.0

package statuspage

import (
	"bytes"
	"fmt"
	"html/template"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/vigil-monitor/vigil"
)

// Sizes of a badge, in pixels. A letter of the font is at most this wide on average.
const (
	badgePadding = 8
	letterWidth  = 7
	badgeLetters = 60 // of a name; the rest is cut
)

// Colors of badges. Their contrast to white is 4.5 at least.
const (
	colorBad     = "#c22a1c"
	colorSlow    = "#8f5600"
	colorGood    = "#0e7a56"
	colorUnknown = "#626b75"
	colorPlain   = "#3a4cc8"
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

// The figures of badges, which a number of days follows, such as uptime-30d.
const (
	uptimeFigure = "uptime-"
	responseTime = "response-time-"
)

// badgeDays reads the days of a figure: 7, 30 or 90; 0 for anything else.
func badgeDays(text string) int {
	switch text {
	case "7d":
		return 7
	case "30d":
		return 30
	case "90d":
		return historyDays
	}
	return 0
}

// badgeOf returns what writes a badge: of the state for an empty figure; nil for an unknown one.
func badgeOf(figure string) func(*service) ([]byte, error) {
	if figure == "" {
		return (*service).badge
	}
	if text, is := strings.CutPrefix(figure, uptimeFigure); is && badgeDays(text) > 0 {
		return func(s *service) ([]byte, error) { return s.uptimeBadge(badgeDays(text)) }
	}
	if text, is := strings.CutPrefix(figure, responseTime); is && badgeDays(text) > 0 {
		return func(s *service) ([]byte, error) { return s.timeBadge(badgeDays(text)) }
	}
	return nil
}

// badge writes the badge of a service.
func (s *service) badge() ([]byte, error) {
	b := badge{Name: s.name, Word: s.state.String()}
	switch s.state {
	case failing:
		b.Color = colorBad
	case slow:
		b.Color = colorSlow
	case working:
		b.Color = colorGood
	case noData:
		b.Word, b.Color = "no data", colorUnknown
		if s.paused {
			b.Word = "paused"
		}
	}
	return b.write()
}

// uptimeBadge writes the share of successes of the last days: green from 99.9 %, amber from 99 %.
func (s *service) uptimeBadge(days int) ([]byte, error) {
	var total, failed int64
	for _, day := range s.days[len(s.days)-days:] {
		total, failed = total+day.Total, failed+day.Failed
	}
	b := badge{Name: s.name + " uptime " + strconv.Itoa(days) + " d", Word: "no data", Color: colorUnknown}
	if total > 0 {
		b.Word, b.Color = uptime(total, failed)+" %", colorGood
		switch {
		case failed*100 > total:
			b.Color = colorBad
		case failed*1000 > total:
			b.Color = colorSlow
		}
	}
	return b.write()
}

// timeBadge writes the mean response time of the results of the last days that did not fail.
func (s *service) timeBadge(days int) ([]byte, error) {
	var results int64
	var sum float64
	for _, day := range s.days[len(s.days)-days:] {
		results, sum = results+day.Total-day.Failed, sum+day.SumMS
	}
	b := badge{Name: s.name + " response " + strconv.Itoa(days) + " d", Word: "no data", Color: colorUnknown}
	if results > 0 && sum > 0 {
		b.Color = colorPlain
		b.Word = fmt.Sprintf("%d ms", int64(math.Ceil(sum/float64(results))))
	}
	return b.write()
}

// write draws the badge.
func (b *badge) write() ([]byte, error) {
	if utf8.RuneCountInString(b.Name) > badgeLetters {
		b.Name = vigil.TruncateCharacters(b.Name, badgeLetters-1) + "…"
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
