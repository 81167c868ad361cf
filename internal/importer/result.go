// SPDX-License-Identifier: Apache-2.0

package importer

import (
	"fmt"
	"slices"

	"github.com/vigil-monitor/vigil/internal/manifest"
	"github.com/vigil-monitor/vigil/internal/project"
)

// Result is an imported configuration: the resources of a project, and what they lack.
type Result struct {
	Source  Source
	Project string
	// Counts are what was read, in the order of the summary.
	Counts []Count
	// Resources in the order of the source.
	Channels, Checks, Maintenance, StatusPages []*Resource
	// Missing are the resources that are not in the files, and Settings what the source says
	// besides resources and the files do not.
	Missing  []Missing
	Settings []Loss
	// Secrets are the variables of .env. Variables are those of the source, whose values
	// only its environment has.
	Secrets   []Secret
	Variables []string

	options   Options
	keys      map[project.Kind]*manifest.Keys
	taken     map[string]bool // variables
	finalised bool
}

// Count is how many of something were read.
type Count struct {
	N    int
	Noun string // singular
}

// Resource is a definition of the project.
type Resource struct {
	Kind project.Kind
	Key  string
	// Origin names the resource as the source does, such as core/bastion.
	Origin  string
	Members Object
	Rules   []*Resource // of a check
	// Losses are what the source says of the resource and the files do not, or not alike.
	Losses []Loss

	result *Result
	keys   manifest.Keys // of the rules
	// lostChannels are the channels of a check's alerts that are not carried over, as the source names them.
	lostChannels []string
}

// Loss is a member of a resource that is not carried over, or not alike.
type Loss struct {
	// What is lost, as the source writes it, such as "success-threshold: 3".
	What string
	// Reason says why, and what Vigil does instead.
	Reason string
}

// Missing is a resource of the source that is not in the files.
type Missing struct {
	Kind   project.Kind
	Origin string
	Reason string
}

// Secret is a variable of the file .env.
type Secret struct {
	Name, Value string
	Path        string // of the member, such as checks.home.config.headers.Authorization
}

// NewResult returns an empty result.
func NewResult(source Source, o Options) *Result {
	return &Result{Source: source, Project: o.Project, options: o, taken: map[string]bool{}, keys: map[project.Kind]*manifest.Keys{}}
}

// Read notes how many of something the source has; none are left out of the summary.
func (r *Result) Read(n int, noun string) {
	if n > 0 {
		r.Counts = append(r.Counts, Count{n, noun})
	}
}

// Add adds a channel, a check, a maintenance window or a status page. Its key is made of
// the name and differs from those of the others.
func (r *Result) Add(kind project.Kind, origin, name string) *Resource {
	list := r.list(kind)
	if r.keys[kind] == nil {
		r.keys[kind] = &manifest.Keys{}
	}
	added := &Resource{Kind: kind, Key: r.keys[kind].Free("", name, string(kind)), Origin: oneLine(origin), result: r}
	*list = append(*list, added)
	return added
}

func (r *Result) list(kind project.Kind) *[]*Resource {
	switch kind {
	case project.KindChannel:
		return &r.Channels
	case project.KindMaintenance:
		return &r.Maintenance
	case project.KindStatusPage:
		return &r.StatusPages
	default:
		return &r.Checks
	}
}

// Remove takes a resource out of the result again, and notes why it is missing.
func (r *Result) Remove(resource *Resource, format string, args ...any) {
	list := r.list(resource.Kind)
	*list = slices.DeleteFunc(*list, func(one *Resource) bool { return one == resource })
	r.Miss(resource.Kind, resource.Origin, format, args...)
}

// AddRule adds a rule to a check. Its key is made of the name and differs from those of the
// other rules of the check.
func (c *Resource) AddRule(name string) *Resource {
	rule := &Resource{Kind: project.KindRule, Key: c.keys.Free("", name, "rule"), Origin: c.Origin, result: c.result}
	c.Rules = append(c.Rules, rule)
	return rule
}

// Set sets a member of the resource.
func (c *Resource) Set(name string, value any) { c.Members.Set(name, value) }

// Lose notes a member of the source that the resource lacks or has in another form. The same
// loss is noted once.
func (c *Resource) Lose(what, format string, args ...any) {
	loss := Loss{What: reportLine(what), Reason: reportLine(fmt.Sprintf(format, args...))}
	if !slices.Contains(c.Losses, loss) {
		c.Losses = append(c.Losses, loss)
	}
}

// maxReport bounds a text of a report, in characters.
const maxReport = 1000

func reportLine(text string) string { return cut(oneLine(text), maxReport) }

// Miss notes a resource of the source that is not in the files.
func (r *Result) Miss(kind project.Kind, origin, format string, args ...any) {
	r.Missing = append(r.Missing, Missing{Kind: kind, Origin: reportLine(origin), Reason: reportLine(fmt.Sprintf(format, args...))})
}

// LoseSetting notes a setting of the source that belongs to no resource, such as its web
// server.
func (r *Result) LoseSetting(what, format string, args ...any) {
	loss := Loss{What: reportLine(what), Reason: reportLine(fmt.Sprintf(format, args...))}
	if !slices.Contains(r.Settings, loss) {
		r.Settings = append(r.Settings, loss)
	}
}

// Lossy reports whether anything of the source is not carried over whole.
func (r *Result) Lossy() bool {
	return len(r.Missing) > 0 || len(r.Settings) > 0 || slices.ContainsFunc(r.all(), (*Resource).partly)
}

// partly reports whether the resource or a rule of it has a loss.
func (c *Resource) partly() bool {
	return len(c.Losses) > 0 || slices.ContainsFunc(c.Rules, (*Resource).partly)
}

// all returns the resources in the order of a file; rules are within their checks.
func (r *Result) all() []*Resource {
	return slices.Concat(r.Channels, r.Checks, r.Maintenance, r.StatusPages)
}

// section is a part of the files.
type section struct {
	name      string
	resources []*Resource
}

func (r *Result) sections() []section {
	return []section{
		{project.SectionChannels, r.Channels},
		{project.SectionChecks, r.Checks},
		{project.SectionMaintenance, r.Maintenance},
		{project.SectionStatusPages, r.StatusPages},
	}
}
