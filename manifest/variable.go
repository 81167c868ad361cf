package manifest

import (
	"fmt"
	"path/filepath"
	"strings"
)

// variables replaces the variables of texts, and remembers those that are missing.
type variables struct {
	env      func(name string) (string, bool)
	readFile func(path string) ([]byte, error)
	problems *Problems
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
		out.WriteString(v.value(at, inside))
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

// file returns the content of a file without the line break at its end. A relative path
// begins at the directory of the file that names it.
func (v *variables) file(at Position, path string) string {
	if !filepath.IsAbs(path) {
		path = filepath.Join(filepath.Dir(at.File), path)
	}
	text, err := v.readFile(path)
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
