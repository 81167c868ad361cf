// SPDX-License-Identifier: Apache-2.0

package importer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/vigil-monitor/vigil/internal/manifest"
)

// file is a file of the project.
type file struct {
	name string
	text []byte
}

// files returns a file for each section that has a resource.
func (r *Result) files() []file {
	var all []file
	for _, section := range r.sections() {
		if len(section.resources) > 0 {
			all = append(all, file{section.name + ".yaml", r.render(section)})
		}
	}
	return all
}

// head is the first line of each file that an import writes; it identifies such a file.
func (r *Result) head() string {
	return fmt.Sprintf("# Written by vigil import %s; what was lost is in IMPORT.md.\n", r.Source.Name)
}

// render writes sections as one document.
func (r *Result) render(sections ...section) []byte {
	w := &yamlWriter{}
	w.out.WriteString(r.head())
	fmt.Fprintf(&w.out, "version: %d\nproject: %s\n", manifest.Version, yamlText(r.Project))
	for _, section := range sections {
		if len(section.resources) == 0 {
			continue
		}
		fmt.Fprintf(&w.out, "\n%s:\n", section.name)
		for i, one := range section.resources {
			if i > 0 {
				w.out.WriteByte('\n')
			}
			w.resource(one, "  ")
		}
	}
	return w.out.Bytes()
}

// yamlWriter writes resources with comments.
type yamlWriter struct{ out bytes.Buffer }

// maxComment bounds a comment about a loss, in bytes.
const maxComment = 500

func (w *yamlWriter) resource(one *Resource, indent string) {
	for _, loss := range one.Losses {
		text := loss.What + ": " + loss.Reason
		w.out.WriteString(indent + "# Lost: " + cut(strings.Join(strings.Fields(text), " "), maxComment) + "\n")
	}
	w.out.WriteString(indent + yamlText(one.Key) + ":\n")
	w.members(one.Members, indent+"  ")
	if len(one.Rules) == 0 {
		return
	}
	w.out.WriteString(indent + "  rules:\n")
	for _, rule := range one.Rules {
		w.resource(rule, indent+"    ")
	}
}

func (w *yamlWriter) members(object Object, indent string) {
	for _, m := range object {
		w.out.WriteString(indent + yamlText(m.Name) + ":")
		w.value(m.Value, indent+"  ")
	}
}

// value writes a value behind a colon or a dash, and ends the line.
func (w *yamlWriter) value(value any, indent string) {
	switch value := value.(type) {
	case string:
		w.text(value, indent)
	case Object:
		if len(value) == 0 {
			w.out.WriteString(" {}\n")
			return
		}
		w.out.WriteByte('\n')
		w.members(value, indent)
	case []string:
		items := make([]any, len(value))
		for i, item := range value {
			items[i] = item
		}
		w.list(items, indent)
	case []any:
		w.list(value, indent)
	default:
		fmt.Fprintf(&w.out, " %v\n", value)
	}
}

// maxInlineList is the longest list of plain values on one line, in bytes.
const maxInlineList = 100

func (w *yamlWriter) list(items []any, indent string) {
	if inline, ok := inlineList(items); ok {
		w.out.WriteString(" " + inline + "\n")
		return
	}
	w.out.WriteByte('\n')
	for _, item := range items {
		object, ok := item.(Object)
		if !ok || len(object) == 0 {
			w.out.WriteString(indent + "-")
			w.value(item, indent+"  ")
			continue
		}
		// The first member stands on the line of the dash.
		inner := &yamlWriter{}
		inner.members(object, indent+"  ")
		w.out.WriteString(indent + "- ")
		w.out.Write(bytes.TrimPrefix(inner.out.Bytes(), []byte(indent+"  ")))
	}
}

// inlineList writes a short list of plain values.
func inlineList(items []any) (string, bool) {
	var parts []string
	for _, item := range items {
		switch item := item.(type) {
		case string:
			text, err := json.Marshal(item)
			if err != nil || strings.Contains(item, "\n") {
				return "", false
			}
			if plainWord.MatchString(item) && !isYAMLWord(item) {
				text = []byte(item)
			}
			parts = append(parts, string(text))
		case Object, []any, []string:
			return "", false
		default:
			parts = append(parts, fmt.Sprint(item))
		}
	}
	text := "[" + strings.Join(parts, ", ") + "]"
	return text, len(text) <= maxInlineList
}

// plainWord matches texts that need no quotes, also between brackets.
var plainWord = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_./-]*$`)

// text writes a text; one of several lines stands below as a block.
func (w *yamlWriter) text(text, indent string) {
	if !blockText.MatchString(text) {
		w.out.WriteString(" " + yamlText(text) + "\n")
		return
	}
	style := "|-"
	if strings.HasSuffix(text, "\n") {
		style = "|"
	}
	w.out.WriteString(" " + style + "\n")
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		w.out.WriteString(indent + line + "\n")
	}
}

// blockText matches texts of several lines that a block keeps as they are.
var blockText = regexp.MustCompile(`^[\x21-\x7e][\x20-\x7e]*(\n[\x21-\x7e][\x20-\x7e]*)+\n?$`)

// plainText matches texts that need no quotes.
var plainText = regexp.MustCompile(`^[\p{L}_/]([\p{L}0-9_./@+,=%?&~ -]|:[\p{L}0-9_./])*$`)

// plainDuration matches durations, which no reader takes for a number.
var plainDuration = regexp.MustCompile(`^[0-9]+[smh]$`)

func isYAMLWord(text string) bool {
	words := []string{"true", "false", "yes", "no", "on", "off", "y", "n", "null", "nan", "inf"}
	return slices.Contains(words, strings.ToLower(text))
}

// yamlText writes a text on one line, in quotes where YAML needs them.
func yamlText(text string) string {
	if plainText.MatchString(text) && !strings.HasSuffix(text, " ") && !isYAMLWord(text) || plainDuration.MatchString(text) {
		return text
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(text) // a text always has a form in JSON
	return strings.TrimSuffix(out.String(), "\n")
}

// Finish hides the secrets and compares the resources with the schema. One that the schema
// refuses leaves the files and is missing. A result is finished once, before it is written.
func (r *Result) Finish() error {
	if r.finalised {
		return nil
	}
	r.finalised = true
	r.removeNUL()
	r.escape()
	r.judge()
	r.notifyIfOpen()
	r.hideSecrets()
	err := r.dropInvalid()
	r.warnWithoutChannel()
	return err
}

// dropInvalid removes what the files may not have, until they are valid.
func (r *Result) dropInvalid() error {
	if size := len(r.render(r.sections()...)); size > manifest.MaxBytes {
		return fmt.Errorf("the files would have %d MiB, and those of a project have at most %d MiB together; "+
			"divide what is imported, and import each part with a --project of its own", (size+1<<20-1)>>20, manifest.MaxBytes>>20)
	}
	for {
		problems, err := r.problems()
		if err != nil || len(problems) == 0 || len(r.all()) == 0 {
			return err
		}
		for _, problem := range problems {
			if !r.drop(problem) {
				return errors.New(problem.String())
			}
		}
	}
}

// problems reads the files as `vigil validate` does. Each variable has a value.
func (r *Result) problems() (manifest.Problems, error) {
	if len(r.all()) == 0 {
		return nil, nil
	}
	_, err := manifest.Read([]string{manifest.Stdin}, manifest.Options{
		Rules: r.options.Rules, Stdin: io.Reader(bytes.NewReader(r.render(r.sections()...))),
		Env: func(string) (string, bool) { return "x", true },
	})
	if problems, ok := err.(manifest.Problems); ok { //nolint:errorlint // Read returns it as it is
		return problems, nil
	}
	return nil, err
}

// drop removes the resource that a problem is about.
func (r *Result) drop(problem manifest.Problem) bool {
	parts := strings.Split(problem.Path, ".")
	for _, section := range r.sections() {
		for _, one := range section.resources {
			if len(parts) < 2 || section.name != parts[0] || one.Key != parts[1] {
				continue
			}
			for i, rule := range one.Rules {
				if len(parts) > 3 && parts[2] == "rules" && rule.Key == parts[3] {
					one.Rules = slices.Delete(one.Rules, i, i+1)
					one.Lose("alert "+rule.Key, "%s", problem.Message)
					return true
				}
			}
			r.Remove(one, "%s %s", strings.Join(parts[2:], "."), problem.Message)
			r.unlink(one)
			return true
		}
	}
	// Several problems of one resource: it is gone with the first.
	return len(parts) > 1 && slices.ContainsFunc(r.sections(), func(s section) bool { return s.name == parts[0] })
}
