// SPDX-License-Identifier: Apache-2.0

package mail

import (
	"bytes"
	"cmp"
	_ "embed" // for the design of a letter
	"html/template"
	"slices"
	"strings"

	"github.com/vigil-monitor/vigil"
)

// Letter is what a mail says, which is written twice: as text, and as HTML for those who see it. No text of
// it is markup.
type Letter struct {
	// Tone is critical, warning, info or resolved, and colours the letter; empty for one without a state.
	Tone string
	// Badge stands above the title, such as Critical; empty for none.
	Badge string
	Title string
	// Preview is what programs show beside the subject; empty: the first lines of the parts.
	Preview string
	Parts   []Part
	// Footer are the lines at the end.
	Footer []string
	// Unsubscribe is the URL that ends mail to the recipient; empty for none.
	Unsubscribe string
}

// Part is a part of a letter, of one kind: the first member that is not empty.
type Part struct {
	Text    string // of any number of lines
	Quote   string // what a machine said
	Buttons []Button
	Bars    []Bar  // results, the oldest first
	Summary string // of Bars, in words
	Facts   []Fact
}

// Button leads somewhere. The first one of a part is the main one.
type Button struct{ Text, URL string }

// Fact is a name with its value.
type Fact struct{ Name, Value string }

// Bar is a result. One that was missed is neither passed nor failed.
type Bar struct{ Passed, Failed bool }

// maxPreview bounds a preview, in bytes: programs show about half of it.
const maxPreview = 200

// maxShownText bounds a text in HTML, in bytes: a character is written as five, and Gmail cuts a mail behind 102 KB. The
// text beside it has all.
const maxShownText = 10 << 10

//go:embed letter.html
var letterSource string

var letterTemplate = template.Must(template.New("letter").Parse(letterSource)) //nolint:gochecknoglobals // parsed once

// tones are the colours of letters, which have a contrast of 4.5 on white.
func tones(tone string) template.CSS {
	switch tone {
	case "critical":
		return "#c22a1c"
	case "warning":
		return "#8f5600"
	case "info":
		return "#3a4cc8"
	case "resolved":
		return "#0e7a56"
	}
	return "#15181c"
}

// The halves of a bar: what passes stands on the ground, what fails hangs from above.
const (
	barPassed template.CSS = "#7d8793"
	barFailed template.CSS = "#d43a2a"
)

// What the design takes.
type (
	drawnLetter struct {
		Tone, Badge, Title, Preview string
		Colour                      template.CSS
		Parts                       []drawnPart
		Footer                      []string
		Unsubscribe                 string
	}
	drawnPart struct {
		Lines, Quote []string
		Buttons      []Button
		Bars         []drawnBar
		Summary      string
		Facts        []Fact
	}
	drawnBar struct{ Top, Bottom template.CSS }
)

// HTML writes the letter for programs that show HTML. Addresses that are not of the web are shown as no link.
func (l *Letter) HTML() string {
	drawn := drawnLetter{
		Tone: l.Tone, Badge: l.Badge, Title: l.Title, Preview: l.preview(), Colour: tones(l.Tone), Footer: l.Footer, Unsubscribe: l.Unsubscribe,
	}
	for i := range l.Parts {
		p := &l.Parts[i]
		part := drawnPart{Summary: p.Summary, Facts: p.Facts}
		switch {
		case p.Text != "":
			part.Lines = strings.Split(vigil.Shorten(p.Text, maxShownText), "\n")
		case p.Quote != "":
			part.Quote = strings.Split(p.Quote, "\n")
		}
		for _, b := range p.Buttons {
			if web(b.URL) {
				part.Buttons = append(part.Buttons, b)
			}
		}
		for _, b := range p.Bars {
			var bar drawnBar
			if b.Failed {
				bar.Top = barFailed
			}
			if b.Passed {
				bar.Bottom = barPassed
			}
			part.Bars = append(part.Bars, bar)
		}
		if part.Lines != nil || part.Quote != nil || part.Buttons != nil || part.Bars != nil || part.Facts != nil {
			drawn.Parts = append(drawn.Parts, part)
		}
	}
	var b bytes.Buffer
	if err := letterTemplate.Execute(&b, drawn); err != nil {
		return "" // the design holds for any text, so this is a mail of text alone
	}
	return b.String()
}

func web(address string) bool {
	return strings.HasPrefix(address, "https://") || strings.HasPrefix(address, "http://")
}

// preview is what programs show beside the subject.
func (l *Letter) preview() string {
	text := l.Preview
	for i := range l.Parts {
		if text == "" {
			text = l.Parts[i].Text
		}
	}
	return vigil.Shorten(strings.Join(strings.Fields(text), " "), maxPreview)
}

// Text writes the letter for programs that show text.
func (l *Letter) Text() string {
	var parts []string
	for i := range l.Parts {
		if text := l.Parts[i].text(); text != "" {
			parts = append(parts, text)
		}
	}
	text := strings.Join(parts, "\n\n") + "\n"
	footer := l.Footer
	if l.Unsubscribe != "" {
		footer = append(footer[:len(footer):len(footer)], "To get no more of these mails, open "+l.Unsubscribe)
	}
	if len(footer) > 0 {
		text += "\n-- \n" + strings.Join(footer, "\n") + "\n"
	}
	return text
}

func (p *Part) text() string {
	var lines []string
	switch {
	case p.Text != "":
		return p.Text
	case p.Quote != "":
		return "    " + strings.ReplaceAll(p.Quote, "\n", "\n    ")
	case len(p.Buttons) > 0:
		for _, b := range p.Buttons {
			lines = append(lines, b.Text+":\n"+b.URL)
		}
	case len(p.Bars) > 0:
		return p.Summary
	default:
		for _, f := range p.Facts {
			lines = append(lines, f.Name+": "+f.Value)
		}
	}
	return strings.Join(lines, "\n")
}

// signature begins the footer of a text (RFC 3676, section 4.3).
const signature = "\n-- \n"

// letterOf reads the text of a mail as a letter: a paragraph that is an address becomes a button, lines that are indented
// become a quote, and the lines of the signature the footer, without the one that has the address to unsubscribe.
func letterOf(m *Message) Letter {
	text, footer, signed := strings.Cut(m.Text, signature)
	letter := Letter{Title: m.Subject, Unsubscribe: m.Unsubscribe, Footer: []string{"Sent by Vigil"}}
	if signed {
		letter.Footer = slices.DeleteFunc(strings.Split(strings.TrimSpace(footer), "\n"), func(line string) bool {
			return m.Unsubscribe != "" && strings.Contains(line, m.Unsubscribe)
		})
	}
	for paragraph := range strings.SplitSeq(strings.Trim(text, "\n"), "\n\n") {
		switch alone := strings.TrimSpace(paragraph); {
		case alone == "":
		case web(alone) && !strings.ContainsAny(alone, " \n"):
			letter.Parts = append(letter.Parts, Part{Buttons: []Button{{Text: cmp.Or(m.Button, "Open the page"), URL: alone}}})
		case strings.HasPrefix(paragraph, "    "):
			letter.Parts = append(letter.Parts, Part{Quote: strings.ReplaceAll(alone, "\n    ", "\n")})
		default:
			letter.Parts = append(letter.Parts, Part{Text: alone})
		}
	}
	return letter
}
