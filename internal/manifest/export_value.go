// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/vigil-monitor/vigil/internal/secret"
)

// object is an object with its members in order.
type object []objectMember

type objectMember struct {
	name  string
	value any
}

// MarshalJSON writes the members in order.
func (o object) MarshalJSON() ([]byte, error) {
	var out bytes.Buffer
	out.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			out.WriteByte(',')
		}
		quote(&out, m.name)
		out.WriteByte(':')
		if err := encode(&out, m.value); err != nil {
			return nil, err
		}
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}

func encode(out *bytes.Buffer, value any) error {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return err
	}
	out.Truncate(out.Len() - 1)
	return nil
}

// value returns a value as a file has it: secrets are variables, and ${ is escaped.
func (e *exporter) value(value any, path string) any {
	switch value := value.(type) {
	case string:
		return e.text(value, path)
	case []any:
		items := make([]any, len(value))
		for i, item := range value {
			items[i] = e.value(item, fmt.Sprintf("%s[%d]", path, i))
		}
		return items
	case map[string]any:
		var members object
		for _, name := range slices.Sorted(maps.Keys(value)) {
			if value[name] != nil {
				members = append(members, objectMember{name, e.value(value[name], path+"."+name)})
			}
		}
		return members
	}
	return value
}

// text returns a text as a file has it. What stands for a secret may be a part of an address:
// all of it but its host, or values of its query.
func (e *exporter) text(text, path string) string {
	if secret.IsMaskedAddress(text) {
		return "${" + e.variable(path) + "}"
	}
	text = strings.ReplaceAll(text, "${", "$${")
	if !strings.Contains(text, "://") {
		return text
	}
	written, err := secret.RewriteParameters(text, func(name, value string) (string, error) {
		if value != secret.Mask {
			return value, nil
		}
		return "${" + e.variable(path+"."+name) + "}", nil
	})
	if err != nil {
		return text
	}
	return written
}

// variable returns the variable for the secret at a path.
func (e *exporter) variable(path string) string {
	name := variableOf(path)
	for n := 2; e.variables[name] != ""; n++ {
		name = fmt.Sprintf("%s_%d", variableOf(path), n)
	}
	e.variables[name] = path
	e.out.Secrets = append(e.out.Secrets, Secret{Variable: name, Path: path})
	return name
}
