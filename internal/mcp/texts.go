// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// texts are the pages for programs that read text, by their path: the documentation as
// Markdown, an index of it, and all of it in one.
type texts map[string][]byte

// Paths of texts.
const (
	indexPath = "/llms.txt"
	allPath   = "/llms-full.txt"
	docsPath  = "/docs/"
)

// intro begins the index. The rest is made from the documentation and the OpenAPI document.
const intro = `# Vigil

> Vigil monitors services over HTTP, DNS, TCP, TLS, mail and more, from many regions, opens incidents by rules, and delivers
> notifications until they arrive. Everything is an API; the dashboard, the command line and the MCP server are clients of it.

Quick start:

- Start everything on one machine: ` + "`vigil up`" + `. It prints an API key.
- A request: ` + "`curl -H \"Authorization: Bearer $VIGIL_API_KEY\" %[1]s/v1/checks`" + `
- A check: ` + "`vigil check create https://shop.example/ --interval 60s`" + `
- An assistant: MCP at %[1]s/mcp, with an API key as bearer token. Give it a key that can only read and that ends:
  ` + "`vigil api-key create assistant --scopes read --expires 90d`" + `

`

// newTexts makes the texts from the pages of the documentation and the OpenAPI document.
func newTexts(docs fs.FS, s *schemas, publicURL string) (texts, error) {
	names, err := fs.Glob(docs, "*.md")
	if err != nil {
		return nil, fmt.Errorf("list the documentation: %w", err)
	}
	out := make(texts, len(names)+2)
	var index, all bytes.Buffer
	fmt.Fprintf(&index, intro, publicURL)
	index.WriteString("## Documentation\n\n")
	for _, name := range names {
		content, err := fs.ReadFile(docs, name)
		if err != nil {
			return nil, fmt.Errorf("read the documentation: %w", err)
		}
		out[docsPath+name] = content
		title, first := summary(content)
		fmt.Fprintf(&index, "- [%s](%s%s%s): %s\n", title, publicURL, docsPath, name, first)
	}
	fmt.Fprintf(&index, "- [Everything in one file](%s%s)\n\n## API\n\n", publicURL, allPath)
	fmt.Fprintf(&index, "- [OpenAPI document](%[1]s/openapi.yaml): every operation, also as [JSON](%[1]s/openapi.json)\n", publicURL)
	fmt.Fprintf(&index, "- [Reference](%s/docs): the same to read and to try\n", publicURL)
	out[indexPath] = index.Bytes()
	all.Write(index.Bytes())
	for _, name := range names {
		fmt.Fprintf(&all, "\n---\n\n<!-- %s -->\n\n%s", name, out[docsPath+name])
	}
	all.WriteString("\n---\n\n# Operations of the API\n\n")
	for _, id := range slices.Sorted(maps.Keys(s.operations)) {
		operation := s.operations[id]
		fmt.Fprintf(&all, "- `%s %s`: %s\n", operation["method"], operation["path"], operation["summary"])
	}
	out[allPath] = all.Bytes()
	return out, nil
}

// summary returns the title of a page and its first sentence.
func summary(page []byte) (title, first string) {
	for block := range strings.SplitSeq(string(page), "\n\n") {
		block = strings.Join(strings.Fields(block), " ")
		switch {
		case title == "":
			title = strings.TrimPrefix(block, "# ")
		case block != "" && !strings.HasPrefix(block, "#") && !strings.HasPrefix(block, "|") && !strings.HasPrefix(block, "```"):
			if end := strings.Index(block, ". "); end > 0 {
				block = block[:end+1]
			}
			return title, cutText(block, 160)
		}
	}
	return title, first
}

// ServesText reports whether ServeText answers a path.
func (s *Server) ServesText(path string) bool {
	_, ok := s.texts[path]
	return ok
}

// ServeText answers /llms.txt, /llms-full.txt and the pages of the documentation below
// /docs/. It needs no credential.
func (s *Server) ServeText(w http.ResponseWriter, r *http.Request) {
	content, ok := s.texts[r.URL.Path]
	if !ok || r.Method != http.MethodGet && r.Method != http.MethodHead {
		http.NotFound(w, r)
		return
	}
	kind := "text/markdown; charset=utf-8"
	if strings.HasSuffix(r.URL.Path, ".txt") {
		kind = "text/plain; charset=utf-8"
	}
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Cache-Control", "no-cache")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	_, _ = w.Write(content) // the client may be gone
}
