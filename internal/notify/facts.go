// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/mail"
)

// Facts are what a message to people says besides its text. They are read when it is sent, so that a late message
// says what holds then.
type Facts struct {
	// Results of the check over all regions, the oldest first.
	Results []SlotResult
	// Others are the names of the other channels that are notified of the event.
	Others []string
	// Acknowledge returns the address at which a reader acknowledges the incident, who is empty where many read the
	// message; nil: there is nothing to acknowledge.
	Acknowledge func(who string) string
}

// SlotResult is what came of a slot. One that is neither passed nor failed was missed.
type SlotResult struct{ Passed, Failed bool }

// shownTime is the form of a time in a message.
const shownTime = "2 Jan 2006, 15:04:05 MST"

// Bounds of what a message says of the target, in bytes and in lines: the beginning shows what answered.
const (
	maxAnswer      = 600
	maxAnswerLines = 12
	maxShortAnswer = 240
	maxShortLines  = 3
	maxOthers      = 8
)

// severityMark begins the title of a message to people, which is what a phone shows and what a mail is filtered by.
func (m *Message) severityMark() string {
	if m.Facts == nil || m.Severity == "" || m.Type == vigil.EventTest {
		return ""
	}
	return "[" + capital(string(m.Severity)) + "] "
}

func capital(word string) string { return strings.ToUpper(word[:1]) + word[1:] }

// since says when the incident began and, at its end, how long it lasted.
func (m *Message) since() string {
	began, err := time.Parse(time.RFC3339Nano, m.Variables["started_at"])
	if err != nil {
		return ""
	}
	text := began.UTC().Format(shownTime)
	ended, err := time.Parse(time.RFC3339Nano, m.Variables["resolved_at"])
	if err != nil || !m.over() {
		return text
	}
	end := ended.UTC().Format(shownTime)
	if ended.UTC().Format(time.DateOnly) == began.UTC().Format(time.DateOnly) {
		end = ended.UTC().Format("15:04:05")
	}
	return fmt.Sprintf("%s to %s (%s)", text, end, max(0, ended.Sub(began)).Round(time.Second))
}

// answer is the beginning of what was seen of the target.
func (m *Message) answer(limit, lines int) string {
	all := strings.Split(strings.TrimSpace(printable(m.Variables["evidence"])), "\n")
	text := strings.Join(all[:min(len(all), lines)], "\n")
	if len(all) > lines {
		text += "\n…"
	}
	return cut(text, limit)
}

// others names the other channels that are notified.
func (m *Message) others() string {
	if m.Facts == nil {
		return ""
	}
	names := slices.Clone(m.Facts.Others[:min(len(m.Facts.Others), maxOthers)])
	for i := range names {
		names[i] = singleLine(names[i])
	}
	text := strings.Join(names, ", ")
	if more := len(m.Facts.Others) - maxOthers; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// results says in words what came of the last slots; empty where nothing is known.
func (m *Message) results() string {
	if m.Facts == nil {
		return ""
	}
	passed, failed, missed := 0, 0, 0
	for _, r := range m.Facts.Results {
		switch {
		case r.Failed:
			failed++
		case r.Passed:
			passed++
		default:
			missed++
		}
	}
	if passed+failed == 0 {
		return ""
	}
	text := fmt.Sprintf("Last %d results: %d passed, %d failed", len(m.Facts.Results), passed, failed)
	if missed > 0 {
		text += fmt.Sprintf(", %d missed", missed)
	}
	return text
}

// strip draws the last results with characters that every font has.
func (m *Message) strip() string {
	var b strings.Builder
	for _, r := range m.Facts.Results {
		switch {
		case r.Failed:
			b.WriteString("█")
		case r.Passed:
			b.WriteString("▁")
		default:
			b.WriteString("·")
		}
	}
	return b.String()
}

// factLines are the lines of an incident's message below its text: since when, of which target, what it answered, the
// last results and who else is notified.
func (m *Message) factLines() string {
	if m.Facts == nil || !m.Type.OfIncident() {
		return ""
	}
	var lines []string
	add := func(name, value string) {
		if value != "" {
			lines = append(lines, name+": "+value)
		}
	}
	add("Since", m.since())
	add("Target", singleLine(m.Variables["check_target"]))
	if !m.over() {
		add("Answer", m.answer(maxShortAnswer, maxShortLines))
	}
	if text := m.results(); text != "" {
		lines = append(lines, text, m.strip())
	}
	add("Also notified", m.others())
	return strings.Join(lines, "\n")
}

// namedLink is a link of a message.
type namedLink struct{ Name, URL string }

// linkSeparator stands between links in a line.
const linkSeparator = " · "

// links are where a message leads: what it is about, and where it is acknowledged by a reader of that name.
func (m *Message) links(who string) []namedLink {
	var list []namedLink
	if to := link(m); to != "" {
		list = append(list, namedLink{linkName(m), to})
	}
	if to := m.acknowledge(who); to != "" {
		list = append(list, namedLink{"Acknowledge", to})
	}
	return list
}

// acknowledge is the address at which the incident of the message is acknowledged; empty: there is nothing to
// acknowledge.
func (m *Message) acknowledge(who string) string {
	open := m.Type == vigil.EventTriggered || m.Type == vigil.EventUpdated
	if m.Facts == nil || m.Facts.Acknowledge == nil || !open || m.over() || m.Drill || m.Incident == uuid.Nil {
		return ""
	}
	if to := m.Facts.Acknowledge(who); visible(to) {
		return to
	}
	return ""
}

// parts are those of a mail below its title. What users and targets wrote goes through filter.
func (m *Message) parts(w Wording, filter func(string) string, who string) []mail.Part {
	list := []mail.Part{{Text: filter(w.body(m, asIs))}}
	if m.Facts != nil && m.Type.OfIncident() && !w.ownBody(m) {
		list = []mail.Part{{Text: filter(cut(printable(m.Body), maxBody))}}
		var facts []mail.Fact
		for _, f := range []mail.Fact{
			{Name: "Check", Value: singleLine(m.Variables["check_name"])},
			{Name: "Target", Value: singleLine(m.Variables["check_target"])},
			{Name: "Since", Value: m.since()},
			{Name: "Rule", Value: singleLine(m.Variables["rule_name"])},
			{Name: "Also notified", Value: m.others()},
		} {
			if f.Value = filter(f.Value); f.Value != "" {
				facts = append(facts, f)
			}
		}
		list = append(list, mail.Part{Facts: facts})
		if answer := m.answer(maxAnswer, maxAnswerLines); answer != "" && !m.over() {
			list = append(list, mail.Part{Quote: filter(answer)})
		}
		if text := m.results(); text != "" {
			bars := make([]mail.Bar, len(m.Facts.Results))
			for i, r := range m.Facts.Results {
				bars[i] = mail.Bar{Passed: r.Passed, Failed: r.Failed}
			}
			list = append(list, mail.Part{Bars: bars, Summary: text})
		}
		if m.Note != "" {
			list = append(list, mail.Part{Text: filter(printable(m.Note))})
		}
	}
	var buttons []mail.Button
	for _, l := range m.links(who) {
		buttons = append(buttons, mail.Button{Text: l.Name, URL: l.URL})
	}
	return append(list, mail.Part{Buttons: buttons})
}
