// SPDX-License-Identifier: Apache-2.0

package importer

import (
	"os"
	"slices"
	"strings"

	"github.com/vigil-monitor/vigil/internal/manifest"
)

// Gatus replaces variables in the raw text of a file before it parses it: $NAME and ${NAME}
// are variables, a name that is not set is empty, and $$ is a dollar sign. Their values are
// not known here, so marks take their place and become variables of the written files.
const (
	markOpen   = "\uE000"
	markClose  = "\uE001"
	markDollar = "\uE002"
)

// expansion marks variables in texts, and remembers what no file can have.
type expansion struct {
	// empty are the texts that Gatus takes for variables and that no environment has, such as
	// "$1" and "${A:-b}", without their braces. They are replaced by nothing.
	empty []string
}

// mark replaces the variables of a text by marks. No variable of the environment is read.
func (e *expansion) mark(text string) string {
	text = unmarked(text)
	text = strings.ReplaceAll(text, "$$", markDollar)
	text = os.Expand(text, func(name string) string {
		if manifest.IsVariable(name) {
			return markOpen + name + markClose
		}
		if name = oneLine(strings.ReplaceAll(name, markDollar, "$$")); !slices.Contains(e.empty, name) {
			e.empty = append(e.empty, name)
		}
		return ""
	})
	return strings.ReplaceAll(text, markDollar, "$")
}

// marked reports whether a text has a variable.
func marked(text string) bool { return strings.Contains(text, markOpen) }

// shown returns a marked text as the source writes it, for reports.
func shown(text string) string {
	return strings.NewReplacer("$", "$$", markOpen, "${", markClose, "}").Replace(text)
}

// fileText returns a marked text in the form of the files, and notes its variables.
func (r *Result) fileText(text string) string {
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(text, markOpen)
		if !found {
			out.WriteString(Literal(text))
			return out.String()
		}
		if cut, dollar := strings.CutSuffix(before, "$"); dollar {
			// In a file, $${NAME} is no variable. A default that nothing replaces is.
			out.WriteString(Literal(cut) + dollarSign)
		} else {
			out.WriteString(Literal(before))
		}
		name, after, _ := strings.Cut(rest, markClose)
		out.WriteString(r.Variable(name))
		text = after
	}
}

// unmarked returns a text without marks of variables.
func unmarked(text string) string {
	return strings.NewReplacer(markOpen, "\uFFFD", markClose, "\uFFFD", markDollar, "\uFFFD").Replace(text)
}
