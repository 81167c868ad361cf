// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/vigil-monitor/vigil/internal/console"
	"github.com/vigil-monitor/vigil/internal/manifest"
)

// planView shows a plan.
type planView struct {
	plan      plan
	document  *manifest.Document
	where     string
	arguments string // of the command that applies it
	drift     bool
}

// shown is a line of a plan. Its depth is 1 for what belongs to the line before.
type shown struct {
	mark  string
	depth int
	text  string
}

// mark is the sign of an action.
func mark(action string) string {
	return map[string]string{
		actionCreate: "+", actionChange: "~", actionRestore: "!", actionDelete: "-", actionRelease: "/", actionLeave: ".",
	}[action]
}

func tone(mark string) console.Tone {
	return map[string]console.Tone{
		"+": console.Good, "~": console.Doubtful, "!": console.Doubtful, "-": console.Bad, ".": console.Faint, "=": console.Faint,
	}[mark]
}

// lines are the plan for a terminal.
func (v *planView) lines() console.Lines {
	lines := console.Lines{{Text: fmt.Sprintf("Project %s on %s: %s", v.document.ProjectAsWritten(), v.where, contents(v.document))}}
	for _, line := range v.body() {
		lines = append(
			lines,
			console.Line{Text: strings.Repeat("    ", line.depth) + "  " + pad(line.mark, 2) + line.text, Tone: tone(line.mark)},
		)
	}
	lines = append(lines, console.Line{Text: v.summary(shortPlan(v.plan.Plan))})
	if len(v.plan.changing()) > 0 && !v.drift && !v.plan.Applied {
		lines = append(lines, console.Line{Text: fmt.Sprintf("Do exactly this: vigil apply %s --plan %s", v.arguments, v.plan.Plan)})
	}
	return lines
}

// markdown is the plan as a comment for a pull request.
func (v *planView) markdown() []byte {
	var out bytes.Buffer
	fmt.Fprintf(&out, "### Vigil: project `%s` on %s\n\n", v.document.ProjectAsWritten(), v.where)
	if body := v.body(); len(body) > 0 {
		out.WriteString("```diff\n")
		for _, line := range body {
			fmt.Fprintf(
				&out,
				"%s%s%s\n",
				pad(line.mark, 2),
				strings.Repeat("    ", line.depth),
				console.Clean(strings.ReplaceAll(line.text, "```", "'''")),
			)
		}
		out.WriteString("```\n\n")
	}
	fmt.Fprintf(&out, "%s\n", v.summary(v.plan.Plan))
	return out.Bytes()
}

// pad fills a text up to a width, with a space after one that fills it alone.
func pad(text string, width int) string { return fmt.Sprintf("%-*s ", width-1, text) }

// body are the lines of the actions. A rule stands below its check when that has a line.
func (v *planView) body() []shown {
	var lines []shown
	done := map[int]bool{}
	for i, action := range v.plan.Actions {
		if done[i] || action.Action == actionNone {
			continue
		}
		if action.Kind == "rule" && v.below(action) {
			continue
		}
		lines = append(lines, v.action(action, 0)...)
		if action.Kind != "check" {
			continue
		}
		for j, rule := range v.plan.Actions {
			if rule.Kind == "rule" && rule.Action != actionNone && checkOf(rule) == action.Key {
				done[j] = true
				lines = append(lines, v.action(rule, 1)...)
			}
		}
	}
	if same := v.unchanged(); same != "" && !v.drift {
		lines = append(lines, shown{mark: "=", text: same})
	}
	return lines
}

// below reports whether the check of a rule has a line of its own.
func (v *planView) below(rule planAction) bool {
	return slices.ContainsFunc(v.plan.Actions, func(a planAction) bool {
		return a.Kind == "check" && a.Action != actionNone && a.Key == checkOf(rule)
	})
}

func checkOf(rule planAction) string {
	check, _, _ := strings.Cut(rule.Key, "/")
	return check
}

// action are the lines of one action.
func (v *planView) action(a planAction, depth int) []shown {
	key := a.Key
	if depth > 0 {
		_, key, _ = strings.Cut(a.Key, "/")
	}
	text := v.what(a)
	if a.Note != "" {
		text = strings.TrimSpace(text + "  " + a.Note)
	}
	title := pad(strings.ReplaceAll(a.Kind, "_", " "), 9) + pad(key, 18)
	if depth > 0 {
		title = pad(a.Kind, 5) + pad(key, 18)
	}
	lines := []shown{{mark: mark(a.Action), depth: depth, text: strings.TrimRight(title+text, " ")}}
	for _, warning := range a.Warnings {
		lines = append(lines, shown{mark: "!", depth: depth, text: "  warning: " + warning})
	}
	if a.Action != actionChange && a.Action != actionRestore {
		return lines
	}
	for _, member := range a.Members {
		lines = append(lines, shown{depth: depth, text: "  " + pad(memberName(member.Path), 23) + memberChange(member)})
	}
	return lines
}

// what explains an action on one line.
func (v *planView) what(a planAction) string {
	source := a.Source
	switch a.Action {
	case actionCreate:
		return strings.TrimSpace(v.document.Summary(a.Kind, a.Key) + "    " + source)
	case actionRestore:
		by, at := a.ChangedBy, ""
		if by == "" {
			by = "someone else"
		}
		if when, err := time.Parse(time.RFC3339, a.ChangedAt); err == nil {
			at = when.Format(", 2 Jan 15:04")
		}
		return "changed outside by " + by + at + "; will be put back"
	case actionLeave:
		loses := map[string]string{"check": " and its 90 days of results"}[a.Kind]
		return "in no file any more; kept (--prune deletes it" + loses + ")"
	case actionDelete:
		return "in no file any more; is deleted" + map[string]string{"check": " with its results"}[a.Kind]
	case actionRelease:
		return "in no file any more; is kept and no longer managed"
	}
	return console.ShortID(a.ID)
}

// memberName is the name of a member as files have it.
func memberName(path string) string {
	return strings.TrimSuffix(path, "_seconds")
}

func memberChange(m planMember) string {
	switch {
	case m.Unknown:
		return "not compared (the key may not write)"
	case m.Secret, m.Variable && len(m.To) == 0:
		return "changed (not shown)"
	case m.Variable:
		return "changed, is " + memberValue(m.To, "")
	}
	unit := ""
	if strings.HasSuffix(m.Path, "_seconds") {
		unit = "s"
	}
	return memberValue(m.From, unit) + " -> " + memberValue(m.To, unit)
}

func memberValue(raw json.RawMessage, unit string) string {
	if len(raw) == 0 || string(raw) == "null" {
		return "none"
	}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	return string(raw) + unit
}

// unchanged counts what stays as it is, and names what is paused by hand.
func (v *planView) unchanged() string {
	counts, notes := map[string]int{}, []string{}
	for _, action := range v.plan.Actions {
		if action.Action != actionNone {
			continue
		}
		counts[action.Kind]++
		if action.Note != "" {
			notes = append(notes, action.Key+" "+action.Note)
		}
	}
	var parts []string
	for _, kind := range []string{"check", "channel", "rule", "maintenance", "status_page", "subscription"} {
		if n := counts[kind]; n > 0 {
			noun := map[string]string{"maintenance": "maintenance window"}[kind]
			if noun == "" {
				noun = strings.ReplaceAll(kind, "_", " ")
			}
			parts = append(parts, counted(n, noun))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return strings.Join(append([]string{strings.Join(parts, ", ") + " as they are"}, notes...), "; ")
}

// shortPlan is the end of a plan, for people to compare. Only the whole plan can be applied.
func shortPlan(plan string) string { return plan[max(0, len(plan)-8):] }

// summary is the last line of a plan, which it names as id.
func (v *planView) summary(id string) string {
	p := &v.plan
	if v.drift {
		if len(p.Actions) == 0 {
			return "Nothing was changed outside of the files."
		}
		return counted(len(p.Actions), "object") + " changed outside of the files."
	}
	if len(p.changing()) == 0 {
		text := "Plan " + id + ": nothing to change."
		if left := p.count(actionLeave); left > 0 {
			text = fmt.Sprintf("Plan %s: nothing to change, %d left over.", id, left)
		}
		return text
	}
	text := fmt.Sprintf("Plan %s: %d to create, %d to change, %d to delete",
		id, p.count(actionCreate), p.count(actionChange, actionRestore), p.count(actionDelete))
	if n := p.count(actionRelease); n > 0 {
		text += fmt.Sprintf(", %d to release", n)
	}
	if n := p.count(actionLeave); n > 0 {
		text += fmt.Sprintf(", %d left over", n)
	}
	before, after := console.Thousands(int64(p.Executions.Before)), console.Thousands(int64(p.Executions.After))
	text += fmt.Sprintf(". Executions an hour: %s -> %s", before, after)
	if p.Executions.Limit > 0 {
		text += " of " + console.Thousands(int64(p.Executions.Limit))
	}
	return text + "."
}
