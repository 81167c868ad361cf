// SPDX-License-Identifier: Apache-2.0

package mcp_test

import (
	"io/fs"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/vigil-monitor/vigil/docs"
)

// text reads a text without a credential.
func (s *site) text(t *testing.T, path string) (status int, text string) {
	t.Helper()
	answer := httptest.NewRecorder()
	s.tools.ServeText(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody))
	return answer.Code, answer.Body.String()
}

// The texts are made from the pages and the operations that there are.
func TestTextsAreMadeFromTheDocumentation(t *testing.T) {
	t.Parallel()
	s := open(t, "https://vigil.example.com")
	_, index := s.text(t, "/llms.txt")
	if len(index) > 7_000 {
		t.Errorf("/llms.txt has %d bytes", len(index))
	}
	_, all := s.text(t, "/llms-full.txt")
	pages, err := fs.Glob(docs.Pages, "*.md")
	if err != nil || !slices.Contains(pages, "assistants.md") {
		t.Fatalf("the pages are %v (%v)", pages, err)
	}
	for _, page := range pages {
		content, err := fs.ReadFile(docs.Pages, page)
		if err != nil {
			t.Fatal(err)
		}
		if status, served := s.text(t, "/docs/"+page); status != http.StatusOK || served != string(content) {
			t.Errorf("/docs/%s is answered %d with another text", page, status)
		}
		if !strings.Contains(all, string(content)) {
			t.Errorf("/llms-full.txt lacks %s", page)
		}
	}
	for _, operation := range []string{"GET /v1/checks", "POST /v1/incidents/{id}/resolve"} {
		if !strings.Contains(all, "`"+operation+"`") {
			t.Errorf("/llms-full.txt lacks %s", operation)
		}
	}
	links := regexp.MustCompile(`\(https://vigil\.example\.com(/[^)]*)\)`).FindAllStringSubmatch(index, -1)
	if len(links) < len(pages) {
		t.Errorf("/llms.txt has %d links for %d pages", len(links), len(pages))
	}
	for _, link := range links {
		status, _ := s.text(t, link[1])
		if status != http.StatusOK {
			answer := httptest.NewRecorder()
			s.api.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, link[1], http.NoBody))
			status = answer.Code
		}
		if status != http.StatusOK {
			t.Errorf("the link to %s is answered %d", link[1], status)
		}
	}
	if status, _ := s.text(t, "/docs/adr/0001.md"); status != http.StatusNotFound {
		t.Errorf("a page that is not listed is answered %d", status)
	}
}

func TestResourcesAndPromptsAreThere(t *testing.T) {
	t.Parallel()
	s := open(t, "")
	w, log := s.world(t), &transcript{}
	c := s.connect(t, "", &sender{key: w.key, log: log})
	for uri, has := range map[string]string{
		"vigil://docs": "# Vigil", "vigil://openapi": `"openapi"`, "vigil://schema/apply": `"properties"`,
		"vigil://checks/" + w.check:       `"untrusted_name":"Shop"`,
		"vigil://incidents/" + w.incident: `"timeline"`,
	} {
		read, err := c.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri})
		if err != nil || len(read.Contents) != 1 || !strings.Contains(read.Contents[0].Text, has) {
			t.Errorf("%s: %v", uri, err)
		}
	}
	foreign := s.connect(t, "", &sender{key: s.signUp(t).key})
	for _, uri := range []string{"vigil://checks/" + w.check, "vigil://incidents/" + w.incident, "vigil://checks/7", "vigil://keys"} {
		if _, err := foreign.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri}); err == nil {
			t.Errorf("another organization reads %s", uri)
		}
	}
	if _, err := s.connect(t, "", &sender{key: w.newKey(t, "write")}).ReadResource(
		t.Context(), &sdk.ReadResourceParams{URI: "vigil://checks/" + w.check}); err == nil {
		t.Error("a key without the scope read reads a check")
	}
	listed, err := c.ListPrompts(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	tools := names(c.tools())
	for _, prompt := range listed.Prompts {
		argument := prompt.Arguments[0].Name
		got, err := c.GetPrompt(t.Context(), &sdk.GetPromptParams{Name: prompt.Name, Arguments: map[string]string{argument: "the-value"}})
		if err != nil {
			t.Errorf("%s: %v", prompt.Name, err)
			continue
		}
		text, _ := got.Messages[0].Content.(*sdk.TextContent)
		if !strings.Contains(text.Text, "the-value") || strings.Contains(text.Text, "{") {
			t.Errorf("%s is %q", prompt.Name, text.Text)
		}
		for _, word := range regexp.MustCompile(`\b(get|list|save|try|backtest)_[a-z_]+`).FindAllString(text.Text, -1) {
			if !slices.Contains(tools, word) {
				t.Errorf("%s names %s, which is no tool", prompt.Name, word)
			}
		}
	}
	if len(listed.Prompts) != 4 {
		t.Errorf("there are %d prompts", len(listed.Prompts))
	}
	keepsSecrets(t, log.String(), w)
}

// What is listed depends on the key, so that no shared cache may keep it; and nothing
// promises messages that a server without sessions cannot send.
func TestListsBelongToTheCaller(t *testing.T) {
	t.Parallel()
	s := open(t, "")
	a := s.signUp(t)
	c := s.connect(t, "", &sender{key: a.key})
	listed, err := c.ListTools(t.Context(), nil)
	if err != nil || listed.CacheScope != "private" || listed.TTLMs != 60_000 {
		t.Errorf("the list is cached %+v (%v)", listed.Cacheable, err)
	}
	has := c.InitializeResult().Capabilities
	if has.Tools == nil || has.Tools.ListChanged || has.Resources.ListChanged || has.Prompts.ListChanged {
		t.Errorf("the capabilities are %+v", has)
	}
	_, text := s.post(t, http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"_meta":{
		"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}},"notifications":{}}}`,
		"Authorization", "Bearer "+a.key, "Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "subscriptions/listen")
	if !strings.Contains(text, "-32601") {
		t.Errorf("listening is answered %s", text)
	}
}
