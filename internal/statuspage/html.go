// SPDX-License-Identifier: Apache-2.0

package statuspage

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/overview"
)

//go:embed page.html page.css page.js
var files embed.FS

// pages writes HTML. The style is in the page, which so is one request, and the policy
// names its digest.
type pages struct {
	template *template.Template
	// style and script are their sources in a policy.
	style, script string
}

// policyOf is the Content-Security-Policy of a page with a style of its own beside the one of all pages;
// empty: none.
func (p *pages) policyOf(accent string) string {
	style := p.style
	if accent != "" {
		style += " " + sourceOf([]byte(accent))
	}
	return "default-src 'none'; img-src 'self' data:; style-src " + style + "; script-src " + p.script +
		"; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
}

// accentStyle is the style of a page with an accent color; empty: it has none.
func accentStyle(accent string) string {
	if accent == "" {
		return ""
	}
	return ":root{--acc:" + accent + ";--on-acc:#fff}@media(prefers-color-scheme:dark){:root{--acc:" + overview.DarkAccent(accent) +
		";--on-acc:#0f1114}}"
}

func newPages() (*pages, error) {
	css, err := files.ReadFile("page.css")
	if err != nil {
		return nil, fmt.Errorf("read the style of status pages: %w", err)
	}
	style := string(css)
	js, err := files.ReadFile("page.js")
	if err != nil {
		return nil, fmt.Errorf("read the script of status pages: %w", err)
	}
	parsed, err := template.New("page.html").Funcs(template.FuncMap{
		"style":  func() template.CSS { return template.CSS(style) }, //nolint:gosec // the program's own file
		"script": func() template.JS { return template.JS(js) },      //nolint:gosec // the program's own file
		"list":   func(all ...any) []any { return all },
		"days":   func(all []*badDay) string { return counted(len(all), "day") },
		"mark":   func(s state) string { return s.String() },
		"word":   word,
	}).ParseFS(files, "page.html")
	if err != nil {
		return nil, fmt.Errorf("read the template of status pages: %w", err)
	}
	return &pages{template: parsed, style: sourceOf(css), script: sourceOf(js)}, nil
}

// sourceOf names a style or script in a policy: by its digest.
func sourceOf(text []byte) string {
	digest := sha256.Sum256(text)
	return "'sha256-" + base64.StdEncoding.EncodeToString(digest[:]) + "'"
}

// shown is what the template gets.
type shown struct {
	View    *view
	Accent  template.CSS
	Title   string // of the browser's tab
	Initial string
	Renewed string
	First   string // the oldest day of the bars, such as 2026-08-24
}

func (p *pages) page(v *view, accent string) ([]byte, error) {
	return p.write("page", shown{
		Accent: template.CSS(accent), //nolint:gosec // made of a color that was parsed
		View:   v, Title: v.Headline + " · " + v.Page.Title, Initial: initial(v.Page.Title), Renewed: v.At.Format("2 Jan 2006, 15:04") + " UTC",
		First: firstDay(v.At).Format(time.DateOnly),
	})
}

// message is a page that only says something, or asks for something.
type message struct {
	Title, Detail string
	Form          *form
	Back          string // address that a link leads back to; empty: there is none
}

// form is a form of a page.
type form struct {
	Action, Button string
	Error          string // what was wrong; empty: nothing
	Fields         []field
}

type field struct {
	Name, Label, Type, Value string
	Help                     string
	Complete                 string // autocomplete
	Options                  []string
}

func (p *pages) message(m message) ([]byte, error) { return p.write("message", m) }

func (p *pages) write(name string, data any) ([]byte, error) {
	var text bytes.Buffer
	if err := p.template.ExecuteTemplate(&text, name, data); err != nil {
		return nil, fmt.Errorf("write a status page: %w", err)
	}
	return text.Bytes(), nil
}

// initial is the mark of an organization: the first letter of the title.
func initial(title string) string {
	for _, r := range title {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return string(unicode.ToUpper(r))
		}
	}
	r, _ := utf8.DecodeRuneInString(title)
	return string(r)
}

// word says the state of a service in a few words.
func word(v *view, s *service) string {
	since := ""
	if !s.since.IsZero() {
		since = " since " + clock(s.since.UTC(), v.At)
	}
	switch s.state {
	case failing:
		return "Failing" + since
	case slow:
		return "Slow" + since
	case working:
		return "Working"
	case noData:
	}
	if s.paused {
		return "Paused"
	}
	return "No data"
}

// Name is the name that the public sees.
func (s *service) Name() string { return s.name }

// State is the state of the service.
func (s *service) State() state { return s.state }

// Uptime is the share of successes over all days, in percent; empty without results.
func (s *service) Uptime() string { return uptime(s.totals()) }

// Bars draws the days of the service.
func (s *service) Bars(v *view) bars {
	drawn := barsOf(s.days)
	label := "No data in the last 90 days"
	if up := s.Uptime(); up != "" {
		label = up + " % up in the last 90 days"
	}
	var bad []string
	for i, day := range s.days {
		if day.Failed > 0 {
			bad = append(bad, dateOf(firstDay(v.At).AddDate(0, 0, i), v.At))
		}
	}
	const named = 10
	if n := len(bad) - named; n > 0 {
		bad = append([]string{fmt.Sprintf("%d earlier days", n)}, bad[n:]...)
	}
	if len(bad) > 0 {
		label += "; failures on " + vigil.JoinWords(bad)
	}
	drawn.Name = s.name
	drawn.Label = strings.TrimSpace(label)
	return drawn
}
