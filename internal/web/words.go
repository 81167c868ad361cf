// SPDX-License-Identifier: Apache-2.0

package web

import (
	"fmt"
	"net/url"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// clock shows the time of a day only, with tenths of a second where they say something.
func (r *request) clock(t time.Time, tenths bool) stamp {
	if t.IsZero() {
		return stamp{}
	}
	layout := "15:04:05"
	if tenths {
		layout = "15:04:05.0"
	}
	local := t.In(r.prefs.Zone)
	return stamp{ISO: t.UTC().Format(time.RFC3339Nano), Text: local.Format(layout), Full: local.Format("2 Jan 2006, 15:04:05.000 MST")}
}

// wholeSecond reports whether a time is that of a slot.
func wholeSecond(t time.Time) bool { return t.Nanosecond() < int(50*time.Millisecond) }

// distance words how long something took: 212 ms, 5.7 s, 30 s, 2 min 22 s.
func distance(d time.Duration) string {
	switch d = max(d, 0); {
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < 10*time.Second && d%time.Second >= 50*time.Millisecond:
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return spanExact(d)
}

// offset words how long after something another thing happened: 0.7 s, 30 s, 2 min 22 s.
func offset(d time.Duration) string {
	if d = max(d, 0); d < time.Second {
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return distance(d)
}

// sentence writes an error of the API so that it goes on a sentence: its first letter is
// small, unless it begins a name, and it has no full stop.
func sentence(text string) string {
	text = strings.TrimSuffix(strings.TrimSpace(text), ".")
	first, size := utf8.DecodeRuneInString(text)
	second, _ := utf8.DecodeRuneInString(text[size:])
	if unicode.IsUpper(first) && !unicode.IsUpper(second) && !unicode.IsDigit(second) {
		text = string(unicode.ToLower(first)) + text[size:]
	}
	return text
}

// capital writes a text with a capital letter at its start.
func capital(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(first)) + text[size:]
}

// runURLLike returns the address of another workflow in the Temporal UI than the one of a
// known address.
func runURLLike(known *string, knownID, id string) string {
	if known == nil {
		return ""
	}
	base, ok := strings.CutSuffix(*known, url.PathEscape(knownID))
	if !ok {
		return ""
	}
	return base + url.PathEscape(id)
}

// keptInTemporal reports whether Temporal still has a workflow that closed then; nil is
// one that has not closed.
func (r *request) keptInTemporal(closed *time.Time) bool {
	kept := r.s.deps.Config.TemporalRetention
	return closed == nil || kept == 0 || r.now.Sub(*closed) < kept
}

// short writes an id or the id of a workflow with its uuids shortened to their ends, which are
// random, while they begin with the time: incident/…6f2bd41c.
func short(id string) string {
	parts := strings.Split(id, "/")
	for i, part := range parts {
		if len(part) == 36 && strings.Count(part, "-") == 4 {
			parts[i] = "…" + part[28:]
		}
	}
	return strings.Join(parts, "/")
}

// rulePath is the page of a rule.
func rulePath(check, rule fmt.Stringer) string {
	return "/app/checks/" + check.String() + "/rules/" + rule.String()
}
