// SPDX-License-Identifier: Apache-2.0

package guide_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/vigil-monitor/vigil/docs"
	"github.com/vigil-monitor/vigil/internal/guide"
)

func options() guide.Options {
	return guide.Options{Repository: guide.Repository, Reference: "/docs", App: "/app", Base: "/docs/guide/"}
}

// site builds the guide of the real documents once.
func site(t *testing.T) map[string][]byte {
	t.Helper()
	built, err := guide.Build(docs.Pages, options())
	if err != nil {
		t.Fatal(err)
	}
	return built
}

var (
	address = regexp.MustCompile(` (?:href|src|action)="([^"]*)"`)
	anchor  = regexp.MustCompile(` id="([^"]*)"`)
)

// TestGuideLinksLead follows every link of every page: to a page, to a heading, and to a file of the
// source outside of the guide.
func TestGuideLinksLead(t *testing.T) {
	t.Parallel()
	built := site(t)
	ids := map[string]map[string]bool{}
	for name, content := range built {
		ids[name] = map[string]bool{}
		for _, found := range anchor.FindAllSubmatch(content, -1) {
			if ids[name][string(found[1])] {
				t.Errorf("%s has the address %s twice", name, found[1])
			}
			ids[name][string(found[1])] = true
		}
	}
	links := 0
	for name, content := range built {
		if path.Ext(name) != ".html" {
			continue
		}
		for _, found := range address.FindAllSubmatch(content, -1) {
			links++
			link, fragment, _ := strings.Cut(string(found[1]), "#")
			if source, ok := strings.CutPrefix(link, guide.Repository); ok {
				if _, err := os.Stat("../../" + source); err != nil {
					t.Errorf("%s links to %s, which is not in the source", name, source)
				}
				continue
			}
			if strings.Contains(link, "://") || strings.HasPrefix(link, "mailto:") || link == "/docs" || link == "/app" {
				continue
			}
			to := path.Join(path.Dir(name), link)
			if below, ok := strings.CutPrefix(link, "/docs/guide/"); ok && name == "404.html" {
				to = path.Clean(below)
			}
			if link == "" {
				to = name
			}
			if _, err := os.Stat("../../docs/" + to); to == "." || strings.HasSuffix(link, "/") && err == nil {
				to = path.Join(to, "index.html")
			}
			if built[to] == nil || fragment != "" && !ids[to][fragment] {
				t.Errorf("%s links to %s", name, found[1])
			}
		}
	}
	if links < 2000 {
		t.Errorf("%d links", links)
	}
}

// part is a section in the index of the search.
type part struct {
	Page    string `json:"p"`
	Heading string `json:"h"`
	URL     string `json:"u"`
	Text    string `json:"t"`
}

// TestGuideHasEveryPage holds that each document is a page, and that its headings are in the search.
func TestGuideHasEveryPage(t *testing.T) {
	t.Parallel()
	built := site(t)
	var sections []part
	if err := json.Unmarshal(built["search.json"], &sections); err != nil {
		t.Fatal(err)
	}
	for _, pattern := range []string{"*.md", "adr/*.md"} {
		names, err := docs.Pages.ReadDir(path.Dir(pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, entry := range names {
			name, ok := strings.CutSuffix(path.Join(path.Dir(pattern), entry.Name()), ".md")
			if !ok {
				continue
			}
			page := strings.Replace(name, "README", "index", 1) + ".html"
			if built[page] == nil || !bytes.Contains(built[page], []byte("<h1")) {
				t.Errorf("%s is no page", page)
			}
			if !slices.ContainsFunc(sections, func(s part) bool {
				return s.URL == page && s.Page != ""
			}) {
				t.Errorf("the search does not know %s", page)
			}
		}
	}
	if len(sections) < 300 || len(built["search.json"]) > 1<<20 {
		t.Errorf("the search has %d sections, %d bytes", len(sections), len(built["search.json"]))
	}
}

// TestGuideIsTheSameTwice holds that the same documents make the same bytes, and that they stay small.
func TestGuideIsTheSameTwice(t *testing.T) {
	t.Parallel()
	first, second := site(t), site(t)
	dir := t.TempDir()
	if err := guide.WriteTo(dir, first); err != nil {
		t.Fatal(err)
	}
	whole := 0
	for _, name := range slices.Sorted(maps.Keys(first)) {
		written, err := os.ReadFile(dir + "/" + name)
		if err != nil || !bytes.Equal(written, second[name]) {
			t.Errorf("%s is another one the second time, %v", name, err)
		}
		whole += len(written)
	}
	if len(first) != len(second) || whole > 4<<20 {
		t.Errorf("%d and %d files, %d bytes", len(first), len(second), whole)
	}
}

// TestGuideRefuses has documents that cannot be a site: the mistake is named.
func TestGuideRefuses(t *testing.T) {
	t.Parallel()
	good := func() fstest.MapFS {
		return fstest.MapFS{
			"README.md": {Data: []byte("# The guide\n\n## Use\n\n- [A](a.md): one\n")},
			"a.md":      {Data: []byte("# A\n\n## B\n\n[there](#b), [source](../Makefile)\n")},
		}
	}
	if built, err := guide.Build(good(), options()); err != nil || !bytes.Contains(built["a.html"], []byte(`href="#b"`)) {
		t.Fatalf("a good one: %v", err)
	}
	for name, change := range map[string]struct{ file, text, want string }{
		"NoSuchPage":     {"a.md", "# A\n\n[x](c.md)\n", "a.md links to c.md, which does not exist"},
		"NoSuchHeading":  {"a.md", "# A\n\n[x](#c)\n", "no such heading"},
		"OutOfTheSource": {"a.md", "# A\n\n[x](../../etc/passwd)\n", "which is not in the source"},
		"RawHTML":        {"a.md", "# A\n\n<script>alert(1)</script>\n", "raw HTML"},
		"RawHTMLInALine": {"a.md", "# A\n\nan <b onclick=alert(1)>x</b>\n", "raw HTML"},
		"APicture":       {"a.md", "# A\n\n![x](images/x.png)\n", "no pictures"},
		"NoTitle":        {"a.md", "text\n", "does not begin with its title"},
		"NotListed":      {"c.md", "# C\n", "README.md does not list c.md"},
		"ListedTwice":    {"README.md", "# G\n\n## Use\n\n- [A](a.md)\n- [A](a.md)\n", "listed twice"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			documents := good()
			documents[change.file] = &fstest.MapFile{Data: []byte(change.text)}
			if _, err := guide.Build(documents, options()); err == nil || !strings.Contains(err.Error(), change.want) {
				t.Errorf("%v, want %s", err, change.want)
			}
		})
	}
	documents := good()
	delete(documents, "README.md")
	if _, err := guide.Build(documents, options()); err == nil {
		t.Error("a guide without its first page is built")
	}
}

// TestGuideIsServed asks for the pages over HTTP as a stranger.
func TestGuideIsServed(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(guide.New(docs.Pages, options()))
	t.Cleanup(server.Close)
	client := &http.Client{
		Transport:     &http.Transport{DisableCompression: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	get := func(method, path string, header map[string]string) (*http.Response, string) {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), method, server.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		for name, value := range header {
			request.Header.Set(name, value)
		}
		answer, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		return answer, string(body)
	}
	for _, c := range []struct {
		method, path string
		status       int
		has          string // in the body, or the Location
	}{
		{"GET", "/docs/guide/", 200, "<h1 id=\"the-guide\">The guide</h1>"},
		{"GET", "/docs/guide", 308, "/docs/guide/"},
		{"GET", "/docs/guide/cli.html", 200, `aria-current="page">The command line`},
		{"GET", "/docs/guide/cli", 308, "/docs/guide/cli.html"},
		{"GET", "/docs/guide/cli.md", 308, "/docs/guide/cli.html"},
		{"GET", "/docs/guide/adr/", 200, "0001-"},
		{"GET", "/docs/guide/contents.html?q=key", 200, "All headings"},
		{"GET", "/docs/guide/search.json", 200, "VIGIL_SECRET_KEY"},
		{"GET", "/docs/guide/guide.js", 200, "search.json"},
		{"GET", "/docs/guide/nothing/here", 404, `href="/docs/guide/guide.css"`},
		{"GET", "/docs/guide/..%2f..%2fetc/passwd", 404, "There is no such page"},
		{"POST", "/docs/guide/", 405, "use GET"},
		{"HEAD", "/docs/guide/", 200, ""},
	} {
		answer, body := get(c.method, c.path, nil)
		if answer.StatusCode != c.status || !strings.Contains(body+answer.Header.Get("Location"), c.has) {
			t.Errorf("%s %s: %d %s", c.method, c.path, answer.StatusCode, body[:min(len(body), 300)])
		}
		csp := answer.Header.Get("Content-Security-Policy")
		if !strings.HasPrefix(csp, "default-src 'none'; script-src 'self'") || strings.Contains(csp, "unsafe") {
			t.Errorf("%s %s: the policy %q", c.method, c.path, csp)
		}
		if strings.Contains(body, " style=") || strings.Contains(body, "<style") || strings.Contains(body, "<script>") {
			t.Errorf("%s has what its policy forbids", c.path)
		}
	}
	first, plain := get("GET", "/docs/guide/", nil)
	if again, _ := get("GET", "/docs/guide/", map[string]string{"If-None-Match": first.Header.Get("ETag")}); again.StatusCode != 304 {
		t.Errorf("the same page again: %d", again.StatusCode)
	}
	zipped, body := get("GET", "/docs/guide/", map[string]string{"Accept-Encoding": "gzip"})
	unzip, err := gzip.NewReader(strings.NewReader(body))
	if err != nil || zipped.Header.Get("Content-Encoding") != "gzip" {
		t.Fatalf("compressed: %v", err)
	}
	if whole, err := io.ReadAll(unzip); err != nil || string(whole) != plain {
		t.Errorf("the compressed page is another one: %v", err)
	}
}

// TestGuideLooksLikeTheDashboard compares the colours and fonts with those of the dashboard.
func TestGuideLooksLikeTheDashboard(t *testing.T) {
	t.Parallel()
	read := func(path string) string {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	token := regexp.MustCompile(`--[a-z0-9-]+: [^;]+;`)
	dashboard := token.FindAllString(read("../web/static/app.css"), -1)
	own := token.FindAllString(read("static/guide.css"), -1)
	for _, value := range own {
		if !slices.Contains(dashboard, value) && value != "--gutter: 16px;" {
			t.Errorf("the dashboard has no %s", value)
		}
	}
	if len(own) < 30 {
		t.Errorf("%d tokens", len(own))
	}
}
