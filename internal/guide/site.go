// SPDX-License-Identifier: Apache-2.0

package guide

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
)

//go:embed static templates
var files embed.FS

// Names of pages that no document has.
const (
	decisionsPage = "adr/index.html" // the list of the decision records
	headingsPage  = "contents.html"  // all headings, which the search leads to without JavaScript
	missingPage   = "404.html"
	searchIndex   = "search.json"
)

// Repository is where the files of the source are shown.
const Repository = "https://github.com/vigil-monitor/vigil/blob/main/"

// indexDocument is the document that is the first page. Its lists below second headings are the
// navigation of the site.
const indexDocument = "README.md"

// Options are what the site says of the place that it is served at.
type Options struct {
	// Repository is the address of the files of the source, such as
	// https://github.com/vigil-monitor/vigil/blob/main/; links out of docs lead there.
	Repository string
	// Reference is the path of the description of the API, "" for none; App that of the dashboard.
	Reference, App string
	// Base is the path of the first page, with a slash at the end. Only the page for unknown addresses,
	// which is shown at any of them, needs it.
	Base string
}

// Build makes the files of the site by their path, such as cli.html, from the documents of a
// directory and of adr below it. A link to a page or heading that does not exist is an error, and so
// are raw HTML, a picture, and a page that the navigation lacks. The same documents make the same bytes.
func Build(documents fs.FS, opts Options) (map[string][]byte, error) {
	b := &builder{opts: opts, documents: make(map[string]*document)}
	if err := b.read(documents); err != nil {
		return nil, err
	}
	if err := b.contents(); err != nil {
		return nil, err
	}
	if err := b.link(); err != nil {
		return nil, err
	}
	return b.write()
}

// builder makes one site.
type builder struct {
	opts      Options
	documents map[string]*document // by name, such as adr/0001-a.md
	groups    []group
	order     []*document // as the navigation has them, then the decision records
}

// group is a part of the navigation.
type group struct {
	Title   string
	Entries []entry
}

// entry is a page in the navigation.
type entry struct{ Name, Title, What string }

// read parses all documents.
func (b *builder) read(documents fs.FS) error {
	for _, pattern := range []string{"*.md", "adr/*.md"} {
		names, err := fs.Glob(documents, pattern)
		if err != nil {
			return fmt.Errorf("guide: list %s: %w", pattern, err)
		}
		for _, name := range names {
			source, err := fs.ReadFile(documents, name)
			if err != nil {
				return fmt.Errorf("guide: read %s: %w", name, err)
			}
			if b.documents[name], err = parse(name, source); err != nil {
				return err
			}
		}
	}
	if b.documents[indexDocument] == nil {
		return fmt.Errorf("guide: there is no %s", indexDocument)
	}
	return nil
}

// contents takes the navigation from the lists of the first page, which must have every page.
func (b *builder) contents() error {
	b.order = []*document{b.documents[indexDocument]}
	for _, list := range b.documents[indexDocument].lists() {
		g := group{Title: list.title}
		for _, item := range list.items {
			if item.target == "adr" {
				g.Entries = append(g.Entries, entry{Name: decisionsPage, Title: item.text, What: item.rest})
				continue
			}
			d := b.documents[item.target]
			if d == nil || slices.Contains(b.order, d) {
				return fmt.Errorf("guide: %s lists %s, which is no document or is listed twice", indexDocument, item.target)
			}
			b.order = append(b.order, d)
			g.Entries = append(g.Entries, entry{Name: d.page(), Title: item.text, What: item.rest})
		}
		b.groups = append(b.groups, g)
	}
	for _, name := range slices.Sorted(maps.Keys(b.documents)) {
		d := b.documents[name]
		switch {
		case strings.HasPrefix(name, "adr/"):
			b.order = append(b.order, d)
		case !slices.Contains(b.order, d):
			return fmt.Errorf("guide: %s does not list %s", indexDocument, name)
		}
	}
	return nil
}

// view is what the template of a page shows.
type view struct {
	Title      string
	Name       string // the path of this page
	Root       string // from here to the first page: "" or ../
	Groups     []group
	Opts       Options
	Body       template.HTML
	Headings   []heading // of the second and third rank
	Before     *entry
	After      *entry
	Everything []chapter // on the page of all headings
	Records    []entry   // on the page of the decision records
}

// chapter is a page in the list of all headings.
type chapter struct {
	Name, Title string
	Headings    []heading
}

// write makes all files.
func (b *builder) write() (map[string][]byte, error) {
	pages, err := template.New("").Funcs(template.FuncMap{"within": within}).ParseFS(files, "templates/*.html")
	if err != nil {
		return nil, fmt.Errorf("guide: %w", err)
	}
	out := make(map[string][]byte, len(b.documents)+8)
	show := func(v view) error {
		v.Groups, v.Opts = b.groups, b.opts
		switch {
		case v.Name == missingPage:
			v.Root = b.opts.Base
		case strings.Contains(v.Name, "/"):
			v.Root = "../"
		}
		var page bytes.Buffer
		if err := pages.ExecuteTemplate(&page, "page", v); err != nil {
			return fmt.Errorf("guide: write %s: %w", v.Name, err)
		}
		out[v.Name] = page.Bytes()
		return nil
	}
	views := []view{{Title: "All headings", Name: headingsPage}, {Title: "There is no such page", Name: missingPage}}
	decisions := view{Title: "Decisions", Name: decisionsPage}
	for i, d := range b.order {
		body, err := d.html()
		if err != nil {
			return nil, err
		}
		safe := template.HTML(body) //nolint:gosec // goldmark wrote it, without raw HTML
		v := view{Title: d.title, Name: d.page(), Body: safe, Headings: d.headings}
		if i > 0 {
			v.Before = &entry{Name: b.order[i-1].page(), Title: b.order[i-1].title}
		}
		if i+1 < len(b.order) {
			v.After = &entry{Name: b.order[i+1].page(), Title: b.order[i+1].title}
		}
		views = append(views, v)
		views[0].Everything = append(views[0].Everything, chapter{Name: d.page(), Title: d.title, Headings: d.headings})
		if strings.HasPrefix(d.name, "adr/") {
			decisions.Records = append(decisions.Records, entry{Name: d.page(), Title: d.title})
		}
	}
	if len(decisions.Records) > 0 {
		views = append(views, decisions)
	}
	for _, v := range views {
		if err := show(v); err != nil {
			return nil, err
		}
	}
	return out, b.writeFiles(out)
}

// writeFiles adds what is no page: the index of the search, the style and the script.
func (b *builder) writeFiles(out map[string][]byte) error {
	var sections []section
	for _, d := range b.order {
		sections = append(sections, d.sections()...)
	}
	index, err := json.Marshal(sections)
	if err != nil {
		return fmt.Errorf("guide: %w", err)
	}
	out[searchIndex] = index
	names, err := fs.Glob(files, "static/*")
	if err != nil {
		return fmt.Errorf("guide: %w", err)
	}
	for _, name := range names {
		if out[path.Base(name)], err = files.ReadFile(name); err != nil {
			return fmt.Errorf("guide: %w", err)
		}
	}
	return nil
}

// within returns the address of a page from another one.
func within(root, name string) string {
	if name == "index.html" {
		if root == "" {
			return "./"
		}
		return root
	}
	return root + name
}
