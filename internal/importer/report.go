// SPDX-License-Identifier: Apache-2.0

package importer

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/vigil-monitor/vigil/internal/project"
)

// Line is a line of the summary: how many of what, and why.
type Line struct {
	Label string // "carried over whole", "carried over partly" or "not carried over"
	What  string // such as "31 checks, 4 channels, 57 rules"
	Notes []string
}

// Opening is the first line of the summary, such as "Read 42 endpoints, 3 suites of Gatus.".
func (r *Result) Opening() string {
	var parts []string
	for _, count := range r.Counts {
		parts = append(parts, counted(count.N, count.Noun))
	}
	if len(parts) == 0 {
		parts = []string{"nothing"}
	}
	return fmt.Sprintf("Read %s of %s.", strings.Join(parts, ", "), r.Source.Product)
}

// maxNotes bounds the reasons on a line of the summary; IMPORT.md has all.
const maxNotes = 8

// Summary is the table at the end of an import.
func (r *Result) Summary() []Line {
	var whole, partly []*Resource
	for _, one := range r.everything() {
		if len(one.Losses) == 0 {
			whole = append(whole, one)
		} else {
			partly = append(partly, one)
		}
	}
	var reasons []string
	uses := map[string]int{}
	for _, one := range partly {
		for _, loss := range one.Losses {
			reason := loss.What + ": " + loss.Reason
			if uses[reason]++; uses[reason] == 1 {
				reasons = append(reasons, reason)
			}
		}
	}
	for i, reason := range reasons {
		if n := uses[reason]; n > 1 {
			reasons[i] = fmt.Sprintf("%s (%d times)", reason, n)
		}
	}
	var missing []string
	var kinds []*Resource
	for _, one := range r.Missing {
		missing = append(missing, one.Origin+": "+one.Reason)
		kinds = append(kinds, &Resource{Kind: one.Kind})
	}
	lines := []Line{
		{"carried over whole", kindCounts(whole), nil},
		{"carried over partly", kindCounts(partly), shorten(reasons)},
		{"not carried over", kindCounts(kinds), shorten(missing)},
	}
	if len(r.Settings) > 0 {
		var settings []string
		for _, loss := range r.Settings {
			settings = append(settings, loss.What+": "+loss.Reason)
		}
		lines = append(lines, Line{"settings left out", counted(len(settings), "setting"), shorten(settings)})
	}
	return slices.DeleteFunc(lines, func(line Line) bool { return line.What == "" })
}

func shorten(notes []string) []string {
	if more := len(notes) - maxNotes; more > 0 {
		notes = append(notes[:maxNotes:maxNotes], fmt.Sprintf("and %d more", more))
	}
	return notes
}

// everything returns the resources and the rules.
func (r *Result) everything() []*Resource {
	var all []*Resource
	for _, one := range r.all() {
		all = append(all, one)
		all = append(all, one.Rules...)
	}
	return all
}

// kindCounts counts resources, such as "31 checks, 4 channels, 57 rules".
func kindCounts(resources []*Resource) string {
	var parts []string
	for _, kind := range []struct {
		kind project.Kind
		noun string
	}{
		{project.KindCheck, "check"},
		{project.KindChannel, "channel"},
		{project.KindRule, "rule"},
		{project.KindMaintenance, "maintenance window"},
		{project.KindStatusPage, "status page"},
	} {
		n := 0
		for _, one := range resources {
			if one.Kind == kind.kind {
				n++
			}
		}
		if n > 0 {
			parts = append(parts, counted(n, kind.noun))
		}
	}
	return strings.Join(parts, ", ")
}

func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// report is the text of IMPORT.md.
func (r *Result) report() []byte {
	var out strings.Builder
	fmt.Fprintf(&out, "# Import from %s\n\n%s\n\n", r.Source.Product, markdown(r.Opening()))
	r.reportSummary(&out)
	r.reportVariables(&out)
	if len(r.Missing) > 0 {
		out.WriteString("## Not carried over\n\n| What | Kind | Reason |\n|---|---|---|\n")
		for _, one := range r.Missing {
			fmt.Fprintf(&out, "| %s | %s | %s |\n", cell(one.Origin), kindWord(one.Kind), cell(one.Reason))
		}
		out.WriteByte('\n')
	}
	if partly := slices.DeleteFunc(r.everything(), func(one *Resource) bool { return len(one.Losses) == 0 }); len(partly) > 0 {
		out.WriteString("## Carried over partly\n\n| In the files | In the source | What is lost or changed | Reason |\n|---|---|---|---|\n")
		for _, one := range partly {
			for _, loss := range one.Losses {
				fmt.Fprintf(&out, "| %s `%s` | %s | %s | %s |\n", kindWord(one.Kind), one.Key, cell(one.Origin), cell(loss.What), cell(loss.Reason))
			}
		}
		out.WriteByte('\n')
	}
	if len(r.Settings) > 0 {
		fmt.Fprintf(&out, "## Settings of %s that are left out\n\n| Setting | Reason |\n|---|---|\n", r.Source.Product)
		for _, loss := range r.Settings {
			fmt.Fprintf(&out, "| %s | %s |\n", cell(loss.What), cell(loss.Reason))
		}
		out.WriteByte('\n')
	}
	return []byte(strings.TrimSuffix(out.String(), "\n"))
}

func (r *Result) reportSummary(out *strings.Builder) {
	lines := r.Summary()
	if len(lines) == 0 {
		return
	}
	out.WriteString("| | |\n|---|---|\n")
	for _, line := range lines {
		fmt.Fprintf(out, "| %s | %s |\n", line.Label, line.What)
	}
	out.WriteByte('\n')
}

func (r *Result) reportVariables(out *strings.Builder) {
	if len(r.Secrets) > 0 {
		out.WriteString("## Secrets\n\nThe values are in `.env`, which `.gitignore` keeps out of git.\n\n| Variable | Used by |\n|---|---|\n")
		for _, secret := range r.Secrets {
			fmt.Fprintf(out, "| `%s` | %s |\n", secret.Name, cell(secret.Path))
		}
		out.WriteByte('\n')
	}
	if len(r.Variables) > 0 {
		const text = "## Variables\n\n%s takes these from its environment. Set them, in `.env` or elsewhere, before `vigil plan`:\n\n"
		fmt.Fprintf(out, text, r.Source.Product)
		for _, name := range r.Variables {
			fmt.Fprintf(out, "- `%s`\n", name)
		}
		out.WriteByte('\n')
	}
}

func kindWord(kind project.Kind) string {
	switch kind {
	case project.KindMaintenance:
		return "maintenance window"
	case project.KindStatusPage:
		return "status page"
	default:
		return string(kind)
	}
}

// cell writes a text in a table of Markdown.
func cell(text string) string { return strings.ReplaceAll(markdown(text), "|", `\|`) }

// markdownMarks matches what Markdown does not show as it is.
var markdownMarks = regexp.MustCompile("[\\\\`*_\\[\\]<>#]")

// markdown writes a text so that Markdown shows it as it is.
func markdown(text string) string {
	return markdownMarks.ReplaceAllString(text, `\$0`)
}
