package importer

import "strings"

// dollarSign is a variable whose default is a dollar sign: in a file, $${NAME} is no variable.
const dollarSign = "${DOLLAR_SIGN:-$}"

// escape makes sure that no text from outside is read as a variable of the file: what another
// program stores may hold ${file:...} in any name, and `vigil plan` would read that file. Every
// member of every resource passes here; only the variables that Variable has made stay.
func (r *Result) escape() {
	for _, section := range r.sections() {
		for _, one := range section.resources {
			one.Members, _ = r.escaped(one.Members).(Object)
			for _, rule := range one.Rules {
				rule.Members, _ = r.escaped(rule.Members).(Object)
			}
		}
	}
}

func (r *Result) escaped(value any) any {
	switch value := value.(type) {
	case string:
		return r.escapedText(value)
	case Object:
		for i := range value {
			value[i].Value = r.escaped(value[i].Value)
		}
	case []string:
		for i := range value {
			value[i] = r.escapedText(value[i])
		}
	case []any:
		for i := range value {
			value[i] = r.escaped(value[i])
		}
	}
	return value
}

// escapedText reads a text as a file's reader does, and escapes each variable that the import
// has not made.
func (r *Result) escapedText(text string) string {
	var out strings.Builder
	for {
		i := strings.Index(text, "${")
		if i < 0 {
			return out.String() + text
		}
		inside, rest, closed := strings.Cut(text[i+2:], "}")
		switch {
		case i > 0 && text[i-1] == '$': // it is escaped
			out.WriteString(text[:i+2])
			text = text[i+2:]
		case closed && (r.taken[inside] || "${"+inside+"}" == dollarSign):
			out.WriteString(text[:i] + "${" + inside + "}")
			text = rest
		default:
			out.WriteString(text[:i] + "$${")
			text = text[i+2:]
		}
	}
}
