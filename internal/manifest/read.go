// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/vigil-monitor/vigil/internal/project"
	"github.com/vigil-monitor/vigil/internal/secret"
)

// Rules say what a document may hold. The zero value checks nothing but the form of the
// document.
type Rules struct {
	// Schema is the JSON Schema of the document.
	Schema *Schema
	// Secrets are the secret members of the configs of all types.
	Secrets secret.Configs
}

// Options say how files are read.
type Options struct {
	Rules Rules
	// Env looks up a variable of the environment; nil: there are none. Vigil's own variables
	// (OwnVariable) are not looked up.
	Env func(name string) (string, bool)
	// Variables are the only names that are looked up; nil: all.
	Variables []string
	// FileDirs are directories whose files ${file:...} may read besides those below the paths
	// and /run/secrets.
	FileDirs []string
	// Stdin is read for the path "-".
	Stdin io.Reader
	// AllowEmpty accepts files without a resource.
	AllowEmpty bool
	// Strict makes a secret that stands in a file an error instead of a warning.
	Strict bool
}

// Document is the content of the files, merged and with its variables replaced.
type Document struct {
	// Project is the name of the project, which marks what it owns.
	Project string
	// Files is the number of files that were read.
	Files int
	// Warnings are problems that do not keep the document from being used.
	Warnings Problems

	root *node
	// values are what stands in place of variables, with the variables.
	values map[string]string
}

// The sections of a document that hold resources, in the order of a file.
const (
	channelsSection    = "channels"
	checksSection      = "checks"
	rulesSection       = "rules" // inside a check
	maintenanceSection = "maintenance"
	pagesSection       = "status_pages"

	subscriptionsSection = "subscriptions"

	defaultsSection = "defaults"
	movedSection    = "moved"
)

// Sections returns the names of the sections that hold resources, in the order of a file.
func Sections() []string {
	return []string{channelsSection, checksSection, maintenanceSection, pagesSection, subscriptionsSection}
}

func topMembers() []string {
	return append([]string{"version", "project", defaultsSection, movedSection}, Sections()...)
}

// Version is the version of the format.
const Version = 1

// Read reads files and directories as one document. A directory stands for the files
// *.yaml, *.yml and *.json in it and below; hidden ones are left out. The error is
// Problems and lists every mistake that was found.
func Read(paths []string, o Options) (*Document, error) {
	files, problems := find(paths)
	sources, unread := open(files, o.Stdin)
	if problems = append(problems, unread...); len(problems) > 0 {
		return nil, problems.Sorted()
	}
	if len(sources) == 0 {
		return nil, Problems{{Message: fmt.Sprintf("no *.yaml, *.yml or *.json file in %s", strings.Join(paths, ", "))}}
	}
	return parseSources(sources, newAllowedFiles(paths, o.FileDirs), o)
}

// parseSources reads the texts of files as one document.
func parseSources(sources []source, files *allowedFiles, o Options) (*Document, error) {
	var problems Problems
	vars := newVariables(o, files, &problems)
	m := &merger{root: newObject(Position{File: sources[0].name, Line: 1, Column: 1}), problems: &problems}
	for _, source := range sources {
		p := &parse{source: source, variables: vars, problems: &problems}
		for _, document := range p.documents() {
			m.merge(document)
		}
	}
	vars.report()
	d := &Document{root: m.root, Files: len(sources), values: vars.values}
	m.head(d, o.AllowEmpty)
	if len(problems) == 0 {
		d.check(o, &problems)
	}
	if len(problems) > 0 {
		return nil, problems.Sorted()
	}
	d.Warnings = d.Warnings.Sorted()
	return d, nil
}

func newVariables(o Options, files *allowedFiles, problems *Problems) *variables {
	env := o.Env
	if env == nil {
		env = func(string) (string, bool) { return "", false }
	}
	return &variables{
		env: env, allowed: o.Variables, files: files, problems: problems, missing: map[string][]Position{}, values: map[string]string{},
	}
}

// merger puts the documents of files together.
type merger struct {
	root     *node
	problems *Problems
}

func (m *merger) problem(at Position, path, format string, args ...any) {
	*m.problems = append(*m.problems, Problem{Position: at, Path: path, Message: fmt.Sprintf(format, args...)})
}

// merge adds a document. Sections are put together key by key; what is there twice is a
// problem that names both places, save version and project, which may repeat.
func (m *merger) merge(document *node) {
	if document.kind != objectKind {
		m.problem(document.at, "", "the document must be an object with members such as project and checks, and is %s", document.kind.word())
		return
	}
	for _, from := range document.members {
		into, there := m.root.find(from.name)
		switch {
		case from.name == "$schema":
		case !there:
			m.root.add(m.copied(from))
		case from.name == "version" || from.name == "project":
			if into.value.text != from.value.text {
				m.problem(from.value.at, from.name, "is %q, and %q at %s; all files of a project have the same",
					from.value.shown(), into.value.shown(), into.value.at)
			}
		case from.value.kind == objectKind && into.value.kind == objectKind:
			m.section(from.name, into.value, from.value)
		case from.value.kind == listKind && into.value.kind == listKind:
			into.value.items = append(into.value.items, from.value.items...)
		case from.value.kind != nullKind:
			m.problem(from.at, from.name, "is there twice; the first is at %s", into.at)
		}
	}
}

// copied returns a member whose value can be extended without changing that of another
// file.
func (m *merger) copied(from member) member {
	value := *from.value
	value.items = value.items[:len(value.items):len(value.items)]
	if value.kind == objectKind {
		value.members, value.index, value.size = nil, nil, 1
		for _, inner := range from.value.members {
			value.add(inner)
		}
	}
	from.value = &value
	return from
}

func (m *merger) section(name string, into, from *node) {
	for _, one := range from.members {
		if first, ok := into.find(one.name); ok {
			m.problem(one.at, name+"."+one.name, "is there twice; the first is at %s", first.at)
			continue
		}
		into.add(one)
	}
}

// head reads version and project, and checks the names of the sections.
func (m *merger) head(d *Document, allowEmpty bool) {
	for _, one := range m.root.members {
		if !slices.Contains(topMembers(), one.name) {
			m.problem(one.at, "", "unknown member %q%s", one.name, project.Meant(one.name, topMembers()))
		}
	}
	file := Position{File: m.root.at.File}
	whole := len(*m.problems) == 0 // what is missing may stand where a file cannot be read
	switch version := m.root.get("version"); {
	case version == nil && !whole:
	case version == nil:
		m.problem(file, "version", "is missing; write version: %d", Version)
	case version.text != fmt.Sprint(Version) || version.kind != numberKind:
		m.problem(version.at, "version", "is %q; this program reads version %d", version.shown(), Version)
	}
	switch project := m.root.get("project"); {
	case project == nil && !whole:
	case project == nil:
		m.problem(file, "project", "is missing; it names the owner of what the files describe, such as project: shop")
	case project.kind != textKind || project.text == "":
		m.problem(project.at, "project", "must be a text, such as shop")
	default:
		d.Project = project.text
	}
	if !allowEmpty && d.resources() == 0 && len(*m.problems) == 0 {
		m.problem(file, "", "no resource in the files; --allow-empty accepts that")
	}
}

// resources counts what the document describes, besides rules.
func (d *Document) resources() int {
	n := 0
	for _, section := range Sections() {
		if s := d.root.get(section); s != nil {
			n += len(s.members)
		}
	}
	return n
}

// Count returns how many resources a section has; "rules" are those of all checks.
func (d *Document) Count(section string) int {
	if section != rulesSection {
		if s := d.root.get(section); s != nil {
			return len(s.members)
		}
		return 0
	}
	n := 0
	for _, check := range d.root.get(checksSection).each() {
		n += len(check.value.get(rulesSection).each())
	}
	return n
}

// each returns the members of an object, none of anything else.
func (n *node) each() []member {
	if n == nil || n.kind != objectKind {
		return nil
	}
	return n.members
}

// JSON returns the merged document, as the server takes it.
func (d *Document) JSON() json.RawMessage { return d.root.json() }

// Sources returns file and line of each resource, by its path such as "checks.home" and
// "checks.home.rules.down".
func (d *Document) Sources() map[string]string {
	sources := map[string]string{}
	for _, section := range Sections() {
		for _, one := range d.root.get(section).each() {
			path := section + "." + one.name
			sources[path] = one.at.line()
			for _, rule := range one.value.get(rulesSection).each() {
				sources[path+"."+rulesSection+"."+rule.name] = rule.at.line()
			}
		}
	}
	return sources
}
