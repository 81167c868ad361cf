// SPDX-License-Identifier: Apache-2.0

package redact_test

import (
	"encoding/base64"
	"encoding/json"
	"html"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/vigil-monitor/vigil/internal/redact"
	"github.com/vigil-monitor/vigil/internal/secret"
)

const value = `s3cr3t-"q<u>o&t/e"ö`

func TestText(t *testing.T) {
	t.Parallel()
	hidden := redact.New("", value, "pin")
	quoted, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"Clear": value, "JSON": string(quoted), "HTML": html.EscapeString(value), "Query": url.QueryEscape(value),
		"Path":         url.PathEscape(value),
		"LowerEscapes": "s3cr3t-%22q%3cu%3eo%26t%2fe%22%c3%b6",
		"Base64":       base64.StdEncoding.EncodeToString([]byte(value)), "Base64URL": base64.URLEncoding.EncodeToString([]byte(value)),
		"Base64WithoutPadding": base64.RawStdEncoding.EncodeToString([]byte(value)),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := hidden.Text("before " + text + " after")
			if strings.Contains(got, text) || !strings.HasPrefix(got, "before ") || !strings.HasSuffix(got, " after") ||
				!strings.Contains(got, secret.Mask) {
				t.Errorf("%q became %q", text, got)
			}
		})
	}
	t.Run("InsideALongerBase64Text", func(t *testing.T) {
		t.Parallel()
		for _, before := range []string{"", "a", "ab", "abc", "ada:"} {
			for _, after := range []string{"", "x", "xy", "xyz"} {
				for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
					got := hidden.Text(encoding.EncodeToString([]byte(before + value + after)))
					rest, err := encoding.DecodeString(strings.ReplaceAll(got, secret.Mask, "AAAA"))
					if err == nil && strings.Contains(string(rest), "s3cr3t") || !strings.Contains(got, secret.Mask) {
						t.Errorf("%q, %q: %q", before, after, got)
					}
				}
			}
		}
	})
	t.Run("AShortSecretIsHiddenAsItIs", func(t *testing.T) {
		t.Parallel()
		if got := hidden.Text("the pin is here"); got != "the *** is here" {
			t.Errorf("got %q", got)
		}
	})
	t.Run("OneThatWasCutOff", func(t *testing.T) {
		t.Parallel()
		hidden := redact.New("hunter2-and-more", "hunting")
		for text, want := range map[string]string{
			"said hunter2-an...": "said ***...", "said hunt...": "said ***...", "said hun...": "said hun...",
			"a... hunter2... b": "a... ***... b", "said nothing...": "said nothing...", "...": "...",
		} {
			if got := hidden.Text(text); got != want {
				t.Errorf("%q: got %q, want %q", text, got, want)
			}
		}
	})
	t.Run("NothingToHide", func(t *testing.T) {
		t.Parallel()
		var none *redact.Redactor
		for _, r := range []*redact.Redactor{none, redact.New(), redact.New("")} {
			if got := r.Text("a... b"); got != "a... b" {
				t.Errorf("got %q", got)
			}
			if got := r.Excerpt([]byte("a... b"), false, 100); got != "a... b" {
				t.Errorf("got %q", got)
			}
		}
	})
}

func TestWith(t *testing.T) {
	t.Parallel()
	var none *redact.Redactor
	one := redact.New("tiger-1")
	both := one.With("tiger-2")
	for name, got := range map[string]string{
		"With": both.Text("tiger-1 tiger-2"), "Join": one.Join(redact.New("tiger-2")).Text("tiger-1 tiger-2"),
		"WithOfNil": none.With("tiger-1", "tiger-2").Text("tiger-1 tiger-2"), "JoinOfNil": none.Join(both).Text("tiger-1 tiger-2"),
		"JoinNil": both.Join(nil).Text("tiger-1 tiger-2"),
	} {
		if got != "*** ***" {
			t.Errorf("%s: %q", name, got)
		}
	}
	if got := one.Text("tiger-2"); got != "tiger-2" {
		t.Errorf("the first one changed: %q", got)
	}
}

func TestTree(t *testing.T) {
	t.Parallel()
	tree := map[string]any{"a": "tiger-1", "b": []any{"x tiger-1", 7.0, map[string]any{"c": "tiger-1"}}, "d": nil}
	text, err := json.Marshal(redact.New("tiger-1").Tree(tree))
	if err != nil || string(text) != `{"a":"***","b":["x ***",7,{"c":"***"}],"d":null}` {
		t.Errorf("got %s, %v", text, err)
	}
}

func TestExcerpt(t *testing.T) {
	t.Parallel()
	hidden := redact.New("tiger-tiger")
	answer := strings.Repeat("ä", 50) + "tiger-tiger" + strings.Repeat(".", 50)
	for limit := range 120 {
		got := hidden.Excerpt([]byte(answer), true, limit)
		if len(got) > limit || !utf8.ValidString(got) || strings.Contains(got, "tiger") {
			t.Errorf("limit %d: %q", limit, got)
		}
	}
	for end := range len(answer) {
		if got := hidden.Excerpt([]byte(answer[:end]), false, 200); strings.Contains(got, "tig") {
			t.Errorf("read to %d: %q", end, got)
		}
	}
	if got := hidden.Excerpt([]byte("a\x00b\xffc"), true, 100); got != "ab\uFFFDc" {
		t.Errorf("got %q", got)
	}
}

// BenchmarkTextOfMarks is the worst answer of a target: nothing but marks of a cut.
func BenchmarkTextOfMarks(b *testing.B) {
	hidden, text := redact.New(value), strings.Repeat(redact.CutMark, 64<<10)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		hidden.Text(text)
	}
}
