// SPDX-License-Identifier: Apache-2.0

package web

import (
	"fmt"
	"html/template"
	"math"
	"strconv"
	"strings"

	"github.com/vigil-monitor/vigil/client"
)

// strip is the drawing of a check's newest slots. A passing bar stands on the base line and
// its height is the response time; a failing one hangs from the top, and its length is the
// share of the results that failed. A missed slot is a dot. It has at most four paths.
type strip struct {
	ID            string
	Width, Height int
	Label         string
	Pass          string // path data of each kind of bar
	Fail          string
	Slow          string
	Missed        string
	// Whole shows all bars where there is little room, narrower; otherwise the newest ones.
	Whole bool
}

// Sizes of a strip, in pixels.
const (
	stripStep   = 4 // from a bar to the next one
	stripBar    = 3
	stripHeight = 22
	stripGap    = 2 // between the part that fails and the part that passes
	minBar      = 3
)

// newStrip draws the last `bars` slots of a summary. Successful slots that are slower than
// slowMS are amber; 0 is no limit.
func newStrip(id string, summary *client.CheckSummary, bars int, slowMS float64, newest string) strip {
	s := strip{ID: id, Width: bars * stripStep, Height: stripHeight}
	if summary == nil || len(summary.Slots.Results) == 0 {
		s.Label = "No result yet"
		s.Missed = missedBars(bars)
		return s
	}
	slots := summary.Slots
	from := max(0, len(slots.Results)-bars)
	offset := bars - (len(slots.Results) - from) // bars of a new check stand on the right
	scale := logScale(summary.P95Ms)
	var pass, fail, slow, missed strings.Builder
	passed, failed, due := 0, 0, 0
	for i := from; i < len(slots.Results); i++ {
		x := (offset + i - from) * stripStep
		results, failures := slots.Results[i], slots.Failures[i]
		if results == 0 {
			bar(&missed, x+1, stripHeight, -2)
			continue
		}
		due++
		hang := 0
		if failures > 0 {
			failed++
			hang = hanging(float64(failures) / float64(results))
			bar(&fail, x+1, 0, hang)
		} else {
			passed++
		}
		if failures == results || slots.ResponseTimeMs[i] == nil {
			continue
		}
		ms := *slots.ResponseTimeMs[i]
		height := min(standing(ms, scale), stripHeight-hang-stripGap)
		path := &pass
		if slowMS > 0 && ms > slowMS {
			path, height = &slow, stripHeight-2
		}
		bar(path, x+1, stripHeight, -max(height, minBar))
	}
	s.Pass, s.Fail, s.Slow, s.Missed = pass.String(), fail.String(), slow.String(), missedBars(offset)+missed.String()
	s.Label = stripLabel(passed, failed, due, newest)
	return s
}

func missedBars(n int) string {
	var out strings.Builder
	for i := range n {
		bar(&out, i*stripStep+1, stripHeight, -2)
	}
	return out.String()
}

// bar adds a bar to path data: from a point down, or up for a height below 0.
func bar(path *strings.Builder, x, y, height int) {
	var number [20]byte
	for _, part := range []struct {
		command byte
		n       int
	}{{'M', x}, {' ', y}, {'v', height}} {
		path.WriteByte(part.command)
		path.Write(strconv.AppendInt(number[:0], int64(part.n), 10))
	}
}

// Drawing is the strip as an element. It is made here, since a list has a hundred of them and each of the parts of a
// template costs as much as the whole element.
func (s strip) Drawing() template.HTML {
	var b strings.Builder
	b.WriteString(`<svg class="strip"`)
	if s.ID != "" {
		b.WriteString(` id="` + template.HTMLEscapeString(s.ID) + `"`)
	}
	fit := "xMaxYMid slice"
	if s.Whole {
		fit = "none"
	}
	width, height := strconv.Itoa(s.Width), strconv.Itoa(s.Height)
	b.WriteString(` width="` + width + `" height="` + height + `" viewBox="0 0 ` + width + ` ` + height + `" preserveAspectRatio="` + fit +
		`" role="img" aria-label="` + template.HTMLEscapeString(s.Label) + `">`)
	writePaths(&b, [][2]string{{"miss", s.Missed}, {"pass", s.Pass}, {"slow", s.Slow}, {"fail", s.Fail}})
	b.WriteString("</svg>")
	return template.HTML(b.String()) //nolint:gosec // what is not a number is escaped
}

// writePaths adds an element for each kind of mark, by its class and its path data.
func writePaths(b *strings.Builder, paths [][2]string) {
	for _, path := range paths {
		if path[1] != "" {
			b.WriteString(`<path class="` + path[0] + `" d="` + path[1] + `"/>`)
		}
	}
}

// stripLabel says what the strip shows.
func stripLabel(passed, failed, due int, newest string) string {
	text := fmt.Sprintf("%d of %d passed", passed, due)
	if failed > 0 {
		text += fmt.Sprintf(", %d failed", failed)
	}
	if newest != "" {
		text += ", newest " + newest + " ago"
	}
	return text
}

// hanging is the length of the failing part: it never touches the base line.
func hanging(share float64) int {
	return max(5, int(math.Round(share*(stripHeight-2))))
}

// logScale returns the logarithm that is 14 pixels high: that of the 95th percentile.
func logScale(p95 *float64) float64 {
	if p95 == nil || *p95 <= 0 {
		return math.Log1p(100)
	}
	return math.Log1p(*p95)
}

// standing is the height of a passing bar. The 95th percentile is at 14 of 22 pixels, half
// of it at about 11, twice of it at about 17.
func standing(ms, scale float64) int {
	const at95, octave = 14, 5
	over := (math.Log1p(ms) - scale) / math.Ln2
	return min(max(int(math.Round(at95+octave*over)), minBar), stripHeight)
}
