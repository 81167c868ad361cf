// SPDX-License-Identifier: Apache-2.0

package importer

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/vigil-monitor/vigil/internal/project"
)

// Limits of a table.
const (
	maxCSV       = 8 << 20 // bytes
	maxCSVRows   = 10_000
	maxCSVErrors = 20 // that are named at once
	maxCSVLabels = 8 << 10
)

// csvSource reads a table of checks, such as one that a spreadsheet saves (RFC 4180).
func csvSource() Source {
	return Source{
		Name: "csv", Product: "CSV", Argument: "checks.csv",
		Short: "Write a table of checks as files of a project",
		Long: "Read a table with a header row and the columns name, type, target, interval and labels, in any order, and write its\n" +
			"rows as checks. Commas, semicolons or tabs separate the columns. Only target is required: without a type, its scheme\n" +
			"is the type; without a name, it is the name; without an interval, the check runs every minute. A type is http,\n" +
			"https, tcp, ping, dns, ssl, domain, websocket or grpc. An interval is a number of seconds, or a duration such as 5m.\n" +
			"Labels are pairs such as team=shop env=prod.",
		Example: "  vigil import csv checks.csv -o vigil/",
		Read:    readCSV,
	}
}

func csvColumns() []string { return []string{"name", "type", "target", "interval", "labels"} }

func readCSV(path string, o Options) (*Result, error) {
	text, err := readBounded(path, maxCSV)
	if err != nil {
		return nil, err
	}
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	if notText(text) > 0 {
		return nil, fmt.Errorf("%s: is no text in UTF-8; save the table as CSV UTF-8", path)
	}
	// Old programs end lines with a carriage return alone.
	text = bytes.ReplaceAll(bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")), []byte("\r"), []byte("\n"))
	t := &csvTable{Result: NewResult(csvSource(), o), path: path, columns: map[string]int{}}
	first, rest, _ := bytes.Cut(text, []byte("\n"))
	separator := csvSeparator(first)
	if mark, ok := bytes.CutPrefix(bytes.TrimSpace(first), []byte("sep=")); ok && len(mark) == 1 { // written by spreadsheets
		text, separator, t.skipped = rest, rune(mark[0]), 1
	}
	t.reader = csv.NewReader(bytes.NewReader(text))
	t.reader.FieldsPerRecord = -1
	t.reader.Comma = separator
	if err := t.read(); err != nil {
		return nil, err
	}
	return t.Result, nil
}

// csvSeparator returns what separates the names of the columns.
func csvSeparator(first []byte) rune {
	found, most := ',', bytes.Count(first, []byte(","))
	for _, other := range ";\t" {
		if n := bytes.Count(first, []byte(string(other))); n > most {
			found, most = other, n
		}
	}
	return found
}

// csvTable is one import of a table.
type csvTable struct {
	*Result

	path    string
	reader  *csv.Reader
	skipped int            // lines before those of the reader
	columns map[string]int // places by names
	row     []string
}

func (t *csvTable) read() error {
	if err := t.next(); err != nil {
		if errors.Is(err, io.EOF) {
			return fmt.Errorf("%s: is empty; the first line names the columns: %s", t.path, strings.Join(csvColumns(), ","))
		}
		return err
	}
	if err := t.head(); err != nil {
		return err
	}
	rows := 0
	var wrong []error
	for {
		if err := t.next(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return errors.Join(append(wrong, err)...)
		}
		if strings.TrimSpace(strings.Join(t.row, "")) == "" {
			continue
		}
		if rows++; rows > maxCSVRows {
			return t.fail(0, "the table has more than %d rows; divide it, and import each part with a --project of its own", maxCSVRows)
		}
		if err := t.check(); err != nil {
			wrong = append(wrong, err)
		}
		if len(wrong) == maxCSVErrors {
			return errors.Join(append(wrong, fmt.Errorf("%s: the rows below are not read, after %d errors", t.path, maxCSVErrors))...)
		}
	}
	if rows == 0 {
		return fmt.Errorf("%s: has no row below the names of the columns", t.path)
	}
	t.Read(rows, "row")
	return errors.Join(wrong...)
}

// head reads the names of the columns.
func (t *csvTable) head() error {
	for i, name := range t.row {
		name = strings.ToLower(strings.TrimSpace(name))
		_, given := t.columns[name]
		switch {
		case !slices.Contains(csvColumns(), name):
			return t.fail(i, "%q is no column; the columns are %s", cut(name, maxName), strings.Join(csvColumns(), ", "))
		case given:
			return t.fail(i, "the column %s is there twice", name)
		}
		t.columns[name] = i
	}
	if _, ok := t.columns["target"]; !ok {
		return t.fail(0, "the first line has no column target; it names the columns: %s", strings.Join(csvColumns(), ","))
	}
	return nil
}

// next reads a row.
func (t *csvTable) next() (err error) {
	t.row, err = t.reader.Read()
	if wrong, ok := errors.AsType[*csv.ParseError](err); ok {
		return t.failOn(wrong.Line, wrong.Column, "%v", wrong.Err)
	}
	return err
}

// failOn says where in the table something is wrong. A column is a place in a line, in bytes from 1.
func (t *csvTable) failOn(line, column int, format string, args ...any) error {
	return fmt.Errorf("%s: line %d, column %d: %s", t.path, line+t.skipped, column, fmt.Sprintf(format, args...))
}

// fail is an error about a field of the row.
func (t *csvTable) fail(i int, format string, args ...any) error {
	line, column := t.reader.FieldPos(min(i, len(t.row)-1))
	return t.failOn(line, column, format, args...)
}

// failAt is an error about the field of a column.
func (t *csvTable) failAt(name, format string, args ...any) error {
	return t.fail(t.columns[name], name+": "+format, args...)
}

// field is the text of a column, empty when the row is too short for it.
func (t *csvTable) field(name string) string {
	if i, ok := t.columns[name]; ok && i < len(t.row) {
		return strings.TrimSpace(t.row[i])
	}
	return ""
}

// check adds the check of a row.
func (t *csvTable) check() error {
	if len(t.row) > len(t.columns) && strings.TrimSpace(strings.Join(t.row[len(t.columns):], "")) != "" {
		return t.fail(len(t.columns), "the row has %d columns, and the first line %d", len(t.row), len(t.columns))
	}
	target, given, labels := t.field("target"), t.field("name"), t.field("labels")
	switch {
	case target == "":
		return t.failAt("target", "is missing")
	case cut(given, maxName) != given:
		return t.failAt("name", "is longer than %d characters", maxName)
	case len(labels) > maxCSVLabels:
		return t.failAt("labels", "are longer than %d bytes", maxCSVLabels)
	}
	kind, config, problem := csvConfig(strings.ToLower(t.field("type")), target)
	if problem != nil {
		return t.failAt(problem.column, "%s", problem.text)
	}
	interval := time.Minute
	if text := t.field("interval"); text != "" {
		if strings.Trim(text, "0123456789") == "" {
			text += "s" // a plain number is one of seconds
		}
		seconds, err := project.ParseSeconds(text)
		if err != nil || seconds < 1 || seconds > int64(maxInterval/time.Second) {
			return t.failAt("interval", "%q is no interval from 1s to 720h, such as 60s or 5m", cut(text, maxName))
		}
		interval = time.Duration(seconds) * time.Second
	}
	name := Name(given, Name(withoutUser(target), "check"))
	line, _ := t.reader.FieldPos(0)
	check := t.Add(project.KindCheck, fmt.Sprintf("line %d, %s", line+t.skipped, name), name)
	check.Set("name", Literal(name))
	check.Set("type", string(kind))
	check.SetInterval(interval)
	for _, pair := range strings.FieldsFunc(labels, func(r rune) bool { return strings.ContainsRune(" ,;|\n\t", r) }) {
		key, value, ok := strings.Cut(pair, "=")
		if !ok {
			key, value, ok = strings.Cut(pair, ":")
		}
		if !ok || key == "" {
			return t.failAt("labels", "%q is no label such as team=shop", cut(pair, maxName))
		}
		check.SetLabel(key, Literal(value))
	}
	check.Set("config", config)
	return nil
}
