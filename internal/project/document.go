// SPDX-License-Identifier: Apache-2.0

package project

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
)

// DocumentVersion is the version of the file format that this program reads.
const DocumentVersion = 1

// Kind is a kind of definition that files can have.
type Kind string

// Kinds of definitions.
const (
	KindChannel     Kind = "channel"
	KindCheck       Kind = "check"
	KindRule        Kind = "rule"
	KindStatusPage  Kind = "status_page"
	KindMaintenance Kind = "maintenance"

	KindSubscription Kind = "subscription"
)

// Sections of a document, in the order in which they are applied.
const (
	SectionChannels    = "channels"
	SectionChecks      = "checks"
	SectionMaintenance = "maintenance"
	SectionStatusPages = "status_pages"

	SectionSubscriptions = "subscriptions"
)

// memberRules is the member of a check that has its rules.
const memberRules = "rules"

// Members are the members of a definition as a file has them. Numbers are json.Number.
type Members = map[string]any

// Document is what the files of a project say together, after variables are replaced.
type Document struct {
	Project string // empty: the document does not say
	// Defaults fill what definitions of a kind leave out.
	Defaults map[Kind]Members
	Channels map[string]Members
	Checks   map[string]Members // without their rules
	// Rules of the checks, by the key of the check and their own.
	Rules       map[string]map[string]Members
	Maintenance map[string]Members
	StatusPages map[string]Members

	Subscriptions map[string]Members

	Moved []Moved
	// MoreProblems is how many mistakes ReadDocument and Wanted found besides those that they
	// return.
	MoreProblems int
}

// Moved says that a definition has another key than before, both as paths such as
// checks.home or checks.home.rules.down.
type Moved struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// Problem is a mistake in a document, at a path such as checks.home.config.url.
type Problem struct {
	Path    string `json:"path"`
	Message string `json:"message"`
}

// maxProblems is how many mistakes of a document are kept; the others are counted.
const maxProblems = 1000

// problems collects the mistakes of a document.
type problems struct {
	all  []Problem
	more int
}

func (p *problems) add(path, format string, args ...any) {
	if len(p.all) == maxProblems {
		p.more++
		return
	}
	p.all = append(p.all, Problem{Path: vigil.MemberPath(path), Message: fmt.Sprintf(format, args...)})
}

// ReadDocument reads a document and returns the mistakes in its form, 1,000 at most. What the members of
// a definition may be is not its business.
func ReadDocument(data []byte) (Document, []Problem) {
	doc := Document{
		Defaults: make(map[Kind]Members), Channels: make(map[string]Members), Checks: make(map[string]Members),
		Rules: make(map[string]map[string]Members), Maintenance: make(map[string]Members), StatusPages: make(map[string]Members),
		Subscriptions: make(map[string]Members),
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var tree map[string]any
	if err := decoder.Decode(&tree); err != nil || tree == nil {
		return doc, []Problem{{Message: "must be an object with the sections of the file format"}}
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return doc, []Problem{{Message: "must be one object"}}
	}
	var p problems
	for _, name := range slices.Sorted(maps.Keys(tree)) {
		doc.readSection(&p, name, tree[name])
	}
	if _, given := tree["version"]; !given {
		p.add("version", "is required; this is version %d of the format", DocumentVersion)
	}
	doc.MoreProblems += p.more
	return doc, p.all
}

func documentSections() []string {
	return []string{
		"version", "project", "defaults", SectionChannels, SectionChecks, SectionMaintenance, SectionStatusPages, SectionSubscriptions, "moved",
	}
}

func (d *Document) readSection(p *problems, name string, value any) {
	switch name {
	case "version":
		if number, ok := value.(json.Number); !ok || !sameNumber(number, json.Number(strconv.Itoa(DocumentVersion))) {
			p.add(name, "must be %d, the only version of the format", DocumentVersion)
		}
	case "project":
		text, ok := value.(string)
		if d.Project = text; !ok || !vigil.ValidProject(text) {
			p.add(name, "must have 1 to %d letters, digits, '.', '_' and '-', such as shop", vigil.MaxProjectName)
		}
	case "defaults":
		d.readDefaults(p, value)
	case SectionChannels:
		readObjects(p, name, value, d.Channels)
	case SectionChecks:
		d.readChecks(p, value)
	case SectionMaintenance:
		readObjects(p, name, value, d.Maintenance)
	case SectionStatusPages:
		readObjects(p, name, value, d.StatusPages)
	case SectionSubscriptions:
		readObjects(p, name, value, d.Subscriptions)
	case "moved":
		d.readMoved(p, value)
	default:
		p.add(name, "is not a section of the file format%s", Meant(name, documentSections()))
	}
}

func (d *Document) readDefaults(p *problems, value any) {
	kinds := []string{
		string(KindCheck), string(KindRule), string(KindChannel), string(KindStatusPage), string(KindMaintenance), string(KindSubscription),
	}
	members, ok := value.(map[string]any)
	if !ok && value != nil {
		p.add("defaults", "must be an object")
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		path := "defaults." + name
		given, ok := members[name].(map[string]any)
		switch {
		case !slices.Contains(kinds, name):
			p.add(path, "is not a kind of definition%s", Meant(name, kinds))
		case !ok:
			p.add(path, "must be an object")
		default:
			d.Defaults[Kind(name)] = given
		}
	}
}

// readObjects reads a section: an object of definitions by their keys. An absent or null
// one is empty.
func readObjects(p *problems, section string, value any, into map[string]Members) {
	members, ok := value.(map[string]any)
	if !ok && value != nil {
		p.add(section, "must be an object of definitions by their keys")
	}
	for _, key := range slices.Sorted(maps.Keys(members)) {
		path := section + "." + key
		given, ok := members[key].(map[string]any)
		switch {
		case !ValidKey(key):
			p.add(path, "has a key that is not 1 to %d letters, digits, '.', '_' and '-', beginning with a letter or digit", maxDocumentKey)
		case !ok:
			p.add(path, "must be an object")
		default:
			into[key] = given
		}
	}
}

func (d *Document) readChecks(p *problems, value any) {
	readObjects(p, SectionChecks, value, d.Checks)
	for key, members := range d.Checks {
		rules, given := members[memberRules]
		if !given {
			continue
		}
		bare := maps.Clone(members)
		delete(bare, memberRules)
		d.Checks[key], d.Rules[key] = bare, make(map[string]Members)
		readObjects(p, SectionChecks+"."+key+"."+memberRules, rules, d.Rules[key])
	}
}

func (d *Document) readMoved(p *problems, value any) {
	text, err := json.Marshal(value)
	if err == nil {
		decoder := json.NewDecoder(bytes.NewReader(text))
		decoder.DisallowUnknownFields()
		err = decoder.Decode(&d.Moved)
	}
	if err != nil {
		p.add("moved", `must be a list of {"from": "checks.old", "to": "checks.new"}`)
	}
}

// maxDocumentKey is the longest key of a definition in a file, in bytes.
const maxDocumentKey = 63

// ValidKey reports whether a text can be the key of a definition in a file.
func ValidKey(key string) bool {
	return len(key) <= maxDocumentKey && vigil.ValidProject(key) && !strings.ContainsRune("._-", rune(key[0]))
}

// RuleKey returns the key of a rule in managed_by, such as home/down. RuleKeyOf returns the
// rule's own key again.
func RuleKey(check, rule string) string { return check + "/" + rule }

// RuleKeyOf returns the part of a key of RuleKey behind the check's.
func RuleKeyOf(key string) string { return key[strings.LastIndexByte(key, '/')+1:] }

// PathOf returns the path of a definition in a document, from its key in managed_by.
func PathOf(kind Kind, key string) string {
	switch kind {
	case KindChannel:
		return SectionChannels + "." + key
	case KindCheck:
		return SectionChecks + "." + key
	case KindRule:
		check, rule, _ := strings.Cut(key, "/")
		return SectionChecks + "." + check + "." + memberRules + "." + rule
	case KindMaintenance:
		return SectionMaintenance + "." + key
	case KindStatusPage:
		return SectionStatusPages + "." + key
	case KindSubscription:
		return SectionSubscriptions + "." + key
	}
	return key
}

// ParsePath returns what PathOf makes a path of; false for another path.
func ParsePath(path string) (kind Kind, key string, ok bool) {
	section, key, _ := strings.Cut(path, ".")
	switch section {
	case SectionChannels:
		kind = KindChannel
	case SectionMaintenance:
		kind = KindMaintenance
	case SectionStatusPages:
		kind = KindStatusPage
	case SectionSubscriptions:
		kind = KindSubscription
	case SectionChecks:
		kind = KindCheck
		if check, rule, found := strings.Cut(key, "."+memberRules+"."); found {
			return KindRule, RuleKey(check, rule), ValidKey(check) && ValidKey(rule)
		}
	default:
		return "", "", false
	}
	return kind, key, ValidKey(key)
}

// Reference names a definition in a file: by its key in the same project, or, as name: or
// id:, one that may be outside of it. Exactly one member is set.
type Reference struct {
	Key, Name string
	ID        uuid.UUID
}

// ParseReference reads a reference. The error is a sentence without a subject.
func ParseReference(text string) (Reference, error) {
	if name, ok := strings.CutPrefix(text, "name:"); ok {
		if name = strings.TrimSpace(name); name != "" {
			return Reference{Name: name}, nil
		}
	} else if id, ok := strings.CutPrefix(text, "id:"); ok {
		if parsed, err := uuid.Parse(strings.TrimSpace(id)); err == nil {
			return Reference{ID: parsed}, nil
		}
	} else if ValidKey(text) {
		return Reference{Key: text}, nil
	}
	return Reference{}, errors.New(`must be a key of this project, "name:" with a name, or "id:" with an id`)
}

// ParseSeconds reads a duration such as 60s, 5m or 1h30m of whole seconds. The error is a
// sentence without a subject.
func ParseSeconds(text string) (int64, error) {
	d, err := time.ParseDuration(strings.TrimSpace(text))
	switch {
	case err != nil:
		return 0, errors.New("must be a duration such as 30s, 5m or 1h30m")
	case d < 0 || d%time.Second != 0:
		return 0, errors.New("must be a duration of whole seconds, such as 30s, 5m or 1h30m")
	}
	return int64(d / time.Second), nil
}

// FormatSeconds writes a duration as ParseSeconds reads it, with the largest unit that
// leaves no rest: 90 is 90s, 120 is 2m.
func FormatSeconds(seconds int64) string {
	switch {
	case seconds != 0 && seconds%3600 == 0:
		return fmt.Sprintf("%dh", seconds/3600)
	case seconds != 0 && seconds%60 == 0:
		return fmt.Sprintf("%dm", seconds/60)
	}
	return fmt.Sprintf("%ds", seconds)
}
