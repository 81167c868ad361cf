// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"fmt"
	"slices"
	"strings"
)

// variables replaces the variables of texts, and remembers those that are missing.
type variables struct {
	env      func(name string) (string, bool)
	allowed  []string // nil: every name but Vigil's own
	files    *allowedFiles
	problems *Problems
	values   map[string]string     // what was put in place of variables, with the variable
	missing  map[string][]Position // by name
	order    []string              // names in the order of the first use
}

// maxSecretFile bounds the content of ${file:...}, in bytes.
const maxSecretFile = 1 << 20

// replace replaces ${NAME}, ${NAME:-default} and ${file:/path} in a text. $${ is ${, and
// any other $ is itself.
func (v *variables) replace(at Position, text string) (replaced string, found bool) {
	if !strings.Contains(text, "${") {
		return text, false
	}
	var out strings.Builder
	for {
		i := strings.Index(text, "${")
		if i < 0 {
			out.WriteString(text)
			return out.String(), found
		}
		if i > 0 && text[i-1] == '$' { // $${
			out.WriteString(text[:i-1] + "${")
			text = text[i+2:]
			continue
		}
		out.WriteString(text[:i])
		inside, rest, closed := strings.Cut(text[i+2:], "}")
		if !closed {
			v.problem(at, `"${" without "}"; a literal "${" is written "$${"`)
			out.WriteString(text[i:])
			return out.String(), found
		}
		value := v.value(at, inside)
		v.values[value] = "${" + inside + "}"
		out.WriteString(value)
		text, found = rest, true
	}
}

func (v *variables) problem(at Position, format string, args ...any) {
	*v.problems = append(*v.problems, Problem{Position: at, Message: fmt.Sprintf(format, args...)})
}

// value returns what stands for the inside of ${...}.
func (v *variables) value(at Position, inside string) string {
	if path, ok := strings.CutPrefix(inside, "file:"); ok {
		return v.file(at, path)
	}
	name, standard, hasDefault := strings.Cut(inside, ":-")
	if !IsVariable(name) {
		v.problem(at, `"${%s}" is no variable: write ${NAME}, ${NAME:-default} or ${file:/path}, and "$${" for a literal "${"`, inside)
		return ""
	}
	if problem := v.forbidden(name); problem != "" {
		v.problem(at, "%s", problem)
		return ""
	}
	value, ok := v.env(name)
	switch {
	case hasDefault && value == "":
		return standard
	case ok:
		return value
	}
	if v.missing[name] == nil {
		v.order = append(v.order, name)
	}
	v.missing[name] = append(v.missing[name], at)
	return ""
}

// forbidden says why a variable is not replaced; empty where it is.
func (v *variables) forbidden(name string) string {
	switch {
	case OwnVariable(name):
		return fmt.Sprintf("${%s} is a variable of Vigil itself, which files cannot read; use one with another name", name)
	case v.allowed != nil && !slices.Contains(v.allowed, name):
		return fmt.Sprintf("the server does not replace ${%s}: VIGIL_APPLY_VARIABLES names the variables that its files may read", name)
	}
	return ""
}

// OwnVariable reports whether a variable of the environment is one that Vigil reads itself,
// such as VIGIL_API_KEY. Files cannot read these: what they hold is for the program.
func OwnVariable(name string) bool {
	name = strings.ToUpper(name) // some systems do not tell them apart
	return strings.HasPrefix(name, "VIGIL_") || strings.HasPrefix(name, "TEMPORAL_") || name == "DATABASE_URL"
}

// file returns the content of a file without the line break at its end. A relative path
// begins at the directory of the file that names it.
func (v *variables) file(at Position, path string) string {
	text, err := v.files.read(at.File, path)
	if err != nil {
		v.problem(at, "${file:%s} cannot be read: %s", path, reason(err))
		return ""
	}
	if len(text) > maxSecretFile {
		v.problem(at, "${file:%s} is larger than 1 MiB", path)
		return ""
	}
	return strings.TrimSuffix(strings.TrimSuffix(string(text), "\n"), "\r")
}

// IsVariable reports whether a text is the name of a variable: letters, digits and underscores,
// and no digit first.
func IsVariable(name string) bool {
	for i, r := range name {
		switch {
		case r == '_', r >= 'A' && r <= 'Z', r >= 'a' && r <= 'z', i > 0 && r >= '0' && r <= '9':
		default:
			return false
		}
	}
	return name != ""
}

// report adds a problem for each variable that is not set, at its first use.
func (v *variables) report() {
	for _, name := range v.order {
		places := v.missing[name]
		more := ""
		if len(places) > 1 {
			more = fmt.Sprintf(" (used %d times)", len(places))
		}
		v.problem(places[0], "the variable %s is not set%s; set it, or write ${%s:-default}", name, more, name)
	}
}
