// SPDX-License-Identifier: Apache-2.0

package console

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
)

// ToYAML writes JSON as YAML, its members in the same order. A text is quoted as in JSON
// unless it can be read as nothing but a text.
func ToYAML(body []byte) ([]byte, error) {
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	w := yamlWriter{decoder: decoder}
	if err := w.value("", false); err != nil {
		return nil, fmt.Errorf("the answer is no JSON: %w", err)
	}
	return w.out.Bytes(), nil
}

// yamlWriter writes what a decoder reads.
type yamlWriter struct {
	decoder *json.Decoder
	out     bytes.Buffer
}

// value writes the next value. Members and items of it stand behind the indent; inline
// says that something stands on the line already.
func (w *yamlWriter) value(indent string, inline bool) error {
	token, err := w.decoder.Token()
	if err != nil {
		return err
	}
	delimiter, ok := token.(json.Delim)
	switch {
	case !ok:
		if inline {
			w.out.WriteByte(' ')
		}
		w.scalar(token, indent)
		return nil
	case !w.decoder.More():
		if inline {
			w.out.WriteByte(' ')
		}
		w.out.WriteString(map[json.Delim]string{'[': "[]", '{': "{}"}[delimiter] + "\n")
	case delimiter == '[':
		err = w.list(indent, inline)
	default:
		err = w.object(indent, inline)
	}
	if err != nil {
		return err
	}
	_, err = w.decoder.Token() // the end
	return err
}

func (w *yamlWriter) list(indent string, inline bool) error {
	if inline {
		w.out.WriteByte('\n')
	}
	for w.decoder.More() {
		w.out.WriteString(indent + "-")
		if err := w.item(indent + "  "); err != nil {
			return err
		}
	}
	return nil
}

// item writes an item of a list: an object begins on the line of its dash.
func (w *yamlWriter) item(indent string) error {
	before := w.out.Len()
	if err := w.value(indent, true); err != nil {
		return err
	}
	begin := []byte("\n" + indent)
	if written := w.out.Bytes()[before:]; bytes.HasPrefix(written, begin) {
		rest := slices.Clone(written[len(begin):])
		w.out.Truncate(before)
		w.out.WriteByte(' ')
		w.out.Write(rest)
	}
	return nil
}

func (w *yamlWriter) object(indent string, inline bool) error {
	if inline {
		w.out.WriteByte('\n')
	}
	for w.decoder.More() {
		key, err := w.decoder.Token()
		if err != nil {
			return err
		}
		name, _ := key.(string)
		w.out.WriteString(indent + yamlText(name) + ":")
		if err := w.value(indent+"  ", true); err != nil {
			return err
		}
	}
	return nil
}

// scalar writes a text, a number, a truth or null, and ends the line. A text of several
// lines stands below as a block.
func (w *yamlWriter) scalar(token json.Token, indent string) {
	text, ok := token.(string)
	if !ok {
		if token == nil {
			token = "null"
		}
		_, _ = fmt.Fprintf(&w.out, "%v\n", token)
		return
	}
	if indent == "" || !blockText().MatchString(text) {
		w.out.WriteString(yamlText(text) + "\n")
		return
	}
	style := "|-"
	if strings.HasSuffix(text, "\n") {
		style = "|"
	}
	w.out.WriteString(style + "\n")
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		w.out.WriteString(indent + line + "\n")
	}
}

// blockText matches texts of several lines that a block keeps as they are.
func blockText() *regexp.Regexp {
	return regexp.MustCompile(`^[\x21-\x7e][\x20-\x7e]*(\n[\x21-\x7e][\x20-\x7e]*)+\n?$`)
}

// plainText matches texts that need no quotes, besides the words of yamlWords.
func plainText() *regexp.Regexp {
	return regexp.MustCompile(`^[\p{L}_/]([\p{L}0-9_./@+,=%?&~ -]|:[\p{L}0-9_./])*$`)
}

// yamlWords are texts that some readers take for a truth or for null.
func yamlWords() []string {
	return []string{"true", "false", "yes", "no", "on", "off", "y", "n", "null", "nan", "inf"}
}

func yamlText(text string) string {
	if plainText().MatchString(text) && !strings.HasSuffix(text, " ") && !slices.Contains(yamlWords(), strings.ToLower(text)) {
		return text
	}
	quoted, err := json.Marshal(text)
	if err != nil {
		return text // JSON holds every text
	}
	return string(quoted)
}

// FromYAML reads one document of YAML or JSON as JSON. The error names line and column.
func FromYAML(text []byte) ([]byte, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var value any
	if err := decoder.Decode(&value); err != nil && !errors.Is(err, io.EOF) {
		return nil, errors.New(complaint(err))
	}
	return json.Marshal(value)
}
