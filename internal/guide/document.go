// SPDX-License-Identifier: Apache-2.0

package guide

import (
	"bytes"
	"fmt"
	"path"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
)

// document is a parsed page of docs.
type document struct {
	name     string // such as adr/0001-a.md
	title    string
	source   []byte
	tree     ast.Node
	headings []heading // below the title
	anchors  map[string]bool
}

// heading is a heading of a page, with the address within it.
type heading struct {
	ID, Text string
	Rank     int
}

// language is Markdown as code hosts show it. Raw HTML is left out.
func language() goldmark.Markdown {
	return goldmark.New(
		goldmark.WithExtensions(extension.Table, extension.Strikethrough, extension.TaskList),
		goldmark.WithParserOptions(parser.WithAutoHeadingID()),
		goldmark.WithRendererOptions(html.WithXHTML()),
	)
}

// parse reads a document. It must begin with its title, and have neither raw HTML besides comments
// nor pictures, which are not part of the site.
func parse(name string, source []byte) (*document, error) {
	d := &document{name: name, source: source, anchors: make(map[string]bool)}
	d.tree = language().Parser().Parse(text.NewReader(source), parser.WithContext(parser.NewContext(parser.WithIDs(&anchors{}))))
	err := ast.Walk(d.tree, func(n ast.Node, enter bool) (ast.WalkStatus, error) {
		if !enter {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Heading:
			id, _ := n.AttributeString("id")
			address, _ := id.([]byte)
			h := heading{ID: string(address), Text: d.words(n), Rank: n.Level}
			d.anchors[h.ID] = true
			switch {
			case n.Level == 1 && d.title == "":
				d.title = h.Text
			case n.Level == 2 || n.Level == 3:
				d.headings = append(d.headings, h)
			}
		case *ast.RawHTML:
			return ast.WalkStop, fmt.Errorf("guide: %s has raw HTML: %s", name, n.Segments.Value(source))
		case *ast.HTMLBlock:
			if n.HTMLBlockType != ast.HTMLBlockType2 { // a comment
				return ast.WalkStop, fmt.Errorf("guide: %s has raw HTML: %s", name, n.Lines().Value(source))
			}
		case *ast.Image:
			return ast.WalkStop, fmt.Errorf("guide: %s shows %s, and the site has no pictures", name, n.Destination)
		}
		return ast.WalkContinue, nil
	})
	if err != nil {
		return nil, err
	}
	if first, ok := d.tree.FirstChild().(*ast.Heading); !ok || first.Level != 1 {
		return nil, fmt.Errorf("guide: %s does not begin with its title", name)
	}
	return d, nil
}

// page returns the path of the page that a document becomes.
func (d *document) page() string { return pageOf(d.name) }

func pageOf(name string) string {
	if name == indexDocument {
		return "index.html"
	}
	return strings.TrimSuffix(name, ".md") + ".html"
}

// html returns the body of the page.
func (d *document) html() (string, error) {
	// A comment of the source is of no use to readers.
	for n := d.tree.FirstChild(); n != nil; {
		next := n.NextSibling()
		if n.Kind() == ast.KindHTMLBlock {
			d.tree.RemoveChild(d.tree, n)
		}
		n = next
	}
	var out bytes.Buffer
	if err := language().Renderer().Render(&out, d.source, d.tree); err != nil {
		return "", fmt.Errorf("guide: write %s: %w", d.name, err)
	}
	// What is too wide is scrolled by itself, also by keyboard. Text of a document is escaped, so
	// these words are elements.
	return strings.NewReplacer(
		"<table>", `<div class="wide" tabindex="0" role="region" aria-label="Table"><table>`, "</table>", "</table></div>",
		"<pre>", `<pre tabindex="0">`,
	).Replace(out.String()), nil
}

// words returns the text of a node without its marks.
func (d *document) words(of ast.Node) string {
	var out strings.Builder
	_ = ast.Walk(of, func(n ast.Node, enter bool) (ast.WalkStatus, error) { // the function returns no error
		if !enter {
			if n.Type() == ast.TypeBlock {
				out.WriteByte(' ')
			}
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Text:
			out.Write(n.Segment.Value(d.source))
			if n.SoftLineBreak() || n.HardLineBreak() {
				out.WriteByte(' ')
			}
		case *ast.String:
			out.Write(n.Value)
		case *ast.AutoLink:
			out.Write(n.Label(d.source))
		case *ast.FencedCodeBlock, *ast.CodeBlock:
			out.Write(n.Lines().Value(d.source))
		}
		return ast.WalkContinue, nil
	})
	return strings.Join(strings.Fields(out.String()), " ")
}

// link points the links of all documents to pages of the site.
func (b *builder) link() error {
	for _, d := range b.order {
		err := ast.Walk(d.tree, func(n ast.Node, enter bool) (ast.WalkStatus, error) {
			link, ok := n.(*ast.Link)
			if !ok || !enter {
				return ast.WalkContinue, nil
			}
			to, err := b.target(d, string(link.Destination))
			if words := d.words(link); strings.HasSuffix(words, ".md") && b.documents[path.Join(path.Dir(d.name), words)] != nil {
				link.RemoveChildren(link) // a file has no name on the site
				link.AppendChild(link, ast.NewString([]byte(b.documents[path.Join(path.Dir(d.name), words)].title)))
			}
			link.Destination = []byte(to)
			return ast.WalkContinue, err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// target returns the address, in the page of a document, of what a link of it leads to.
func (b *builder) target(from *document, link string) (string, error) {
	if strings.Contains(link, "://") || strings.HasPrefix(link, "mailto:") {
		return link, nil
	}
	file, anchor, hasAnchor := strings.Cut(link, "#")
	name := from.name
	if file != "" {
		name = path.Join(path.Dir(from.name), file)
	}
	if strings.HasPrefix(name, "../") {
		if strings.HasPrefix(name, "../../") {
			return "", fmt.Errorf("guide: %s links to %s, which is not in the source", from.name, link)
		}
		return b.opts.Repository + strings.TrimPrefix(link, strings.Repeat("../", strings.Count(link, "../"))), nil
	}
	if name == "adr" {
		return "adr/index.html", nil
	}
	to := b.documents[name]
	if to == nil {
		if path.Ext(name) == ".md" {
			return "", fmt.Errorf("guide: %s links to %s, which does not exist", from.name, link)
		}
		return b.opts.Repository + path.Join("docs", name), nil // another file of docs, such as a dashboard for Grafana
	}
	if hasAnchor && !to.anchors[anchor] {
		return "", fmt.Errorf("guide: %s links to %s, and there is no such heading", from.name, link)
	}
	if file == "" {
		return link, nil
	}
	address := to.page()
	if path.Dir(from.name) == "adr" {
		address = "../" + address
	}
	if hasAnchor {
		address += "#" + anchor
	}
	return address, nil
}
