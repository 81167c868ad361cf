// SPDX-License-Identifier: Apache-2.0

package rest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/vigil-monitor/vigil/api/rest"
	"github.com/vigil-monitor/vigil/internal/audit"
)

// itemBody is a body with a member of each kind.
type itemBody struct {
	Name    string                   `json:"name"`
	Config  rest.Field[rest.Object]  `json:"config,omitzero"`
	Size    rest.Field[rest.Integer] `json:"size,omitzero" minimum:"1"`
	Regions rest.Field[[]string]     `json:"regions,omitzero"`
	Enabled rest.Field[bool]         `json:"enabled,omitzero"`
	ID      any                      `json:"id,omitempty" readOnly:"true"`
}

// itemView shows what was decoded.
type itemView struct {
	Name    string          `json:"name"`
	Config  json.RawMessage `json:"config"`
	Size    *int64          `json:"size"`
	Enabled *bool           `json:"enabled"`
}

// server serves POST /v1/items, which shows the body that it decoded. Every entry of
// the audit log goes to note.
func server(tb testing.TB, note func(entry *audit.Entry)) *httptest.Server {
	tb.Helper()
	mux := http.NewServeMux()
	r := &rest.Registrar{
		API: rest.NewAPI(mux, &huma.Info{Title: "Test", Version: "1"}, nil),
		Note: func(ctx context.Context) error {
			note(audit.FromContext(ctx))
			return nil
		},
	}
	rest.Register(r, rest.Operation{
		Method: http.MethodPost, Path: "/v1/items", ID: "create-item", Tag: "Items", Open: true, Audit: "item.create",
	}, func(_ context.Context, in *struct{ Body itemBody }) (*rest.Answer[itemView], error) {
		view := itemView{Name: in.Body.Name, Config: json.RawMessage(in.Body.Config.Value)}
		if in.Body.Size.Given {
			view.Size = new(int64(in.Body.Size.Value))
		}
		if in.Body.Enabled.Given {
			view.Enabled = &in.Body.Enabled.Value
		}
		return rest.NewAnswer(view), nil
	})
	listener := httptest.NewServer(rest.Observe((&rest.Registrar{}).Routed(mux), slog.New(slog.DiscardHandler), nil, time.Minute))
	tb.Cleanup(listener.Close)
	return listener
}

// refusal is the body of an answer that is not a success.
type refusal struct {
	Error   string `json:"error"`
	Code    string `json:"code"`
	Details struct {
		Member   string `json:"member"`
		Problems []struct {
			Member string `json:"member"`
		} `json:"problems"`
	} `json:"details"`
}

// post sends a body and decodes the answer into out.
func post(t *testing.T, listener *httptest.Server, body string, out any) (status int) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, listener.URL+"/v1/items", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := listener.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if err := json.NewDecoder(res.Body).Decode(out); err != nil {
		t.Fatal(err)
	}
	return res.StatusCode
}

// members are those of an object, as JSON.
func members(count int) string {
	all := make([]string, count)
	for i := range all {
		all[i] = fmt.Sprintf(`"m%d":{"m0":0}`, i)
	}
	return strings.Join(all, ",")
}

// TestStrictJSON pins what a body may not be, where a lenient decoder would accept
// it or blame another member.
func TestStrictJSON(t *testing.T) {
	t.Parallel()
	listener := server(t, func(*audit.Entry) {})
	nested := func(levels int) string {
		return `{"name":"x","id":` + strings.Repeat("[", levels-1) + strings.Repeat("]", levels-1) + `}`
	}
	for name, tt := range map[string]struct {
		body, member, sentence string
	}{
		"TwoValues":                      {`{"name":"x"} {}`, "body", "more than one JSON value"},
		"ABracketTooMany":                {`{"name":"x"}]`, "body", "more than one JSON value"},
		"NotUTF8":                        {"{\"name\":\"\xff\"}", "body", "UTF-8"},
		"ANumberOutOfRangeThatIsIgnored": {`{"name":"x","id":1e999}`, "id", "number beyond"},
		"ANumberOutOfRangeInAConfig":     {`{"name":"x","config":{"a":[0,-1e999]}}`, "config.a[1]", "number beyond"},
		"ANumberOutOfRangeAlone":         {`1e999`, "body", "number beyond"},
		"ADuplicateThatIsIgnored":        {`{"id":1,"id":2}`, "id", "more than once"},
		"ADuplicateInAnArray":            {`{"config":{"steps":[{},{"a":{"b":1,"b":1}}]}}`, "config.steps[1].a.b", "more than once"},
		"NULInAnIgnoredMember":           {`{"id":"a\u0000"}`, "id", "NUL"},
		"NULInAnArray":                   {`{"regions":["a","\u0000"]}`, "regions[1]", "NUL"},
		"NULInAName":                     {`{"a\u0000b":1}`, "ab", "NUL"},
		"NULAlone":                       {`"\u0000"`, "body", "NUL"},
		"ALoneSurrogate":                 {`{"name":"\ud800"}`, "name", "Unicode"},
		"ALoneSurrogateInAName":          {`{"config":{"\udc00":1}}`, "config.\ufffd", "Unicode"},
		"ALoneSurrogateAlone":            {`"\ud800"`, "body", "Unicode"},
		"CutOffInAnObject":               {`{"name":1`, "body", "ends too early"},
		"CutOffInAName":                  {`{"na`, "body", "ends too early"},
		"CutOffInAnArray":                {`{"regions":["a"`, "body", "ends too early"},
		"OnlySpace":                      {" \n", "body", "ends too early"},
		"NoValue":                        {`{"name":}`, "body", "not valid JSON near byte"},
		"ANameThatIsNone":                {`{name:1}`, "body", "not valid JSON near byte"},
		"ABracketThatDoesNotMatch":       {`{"regions":["a"}`, "body", "not valid JSON near byte"},
		"ALongName": {
			`{"config":{"` + strings.Repeat("n", 257) + `":1}}`, "config." + strings.Repeat("n", 64) + "...", "name of more than 256",
		},
		"TooManyValues":      {`{"id":[` + strings.Repeat("0,", 9_999) + `0]}`, "body", "more than 10000 values"},
		"AnEscapedDuplicate": {`{"id":{"ab":1,"\u0061b":2}}`, "id.ab", "more than once"},
		"ALateDuplicate":     {`{"id":{` + members(30) + `,"m7":1}}`, "id.m7", "more than once"},
		"DeepArrays":         {nested(33), "body", "deeper than 32 levels"},
		"VeryDeepArrays":     {strings.Repeat("[", 100_000), "body", "deeper than 32 levels"},
		"DeepObjects": {
			`{"id":` + strings.Repeat(`{"a":`, 32) + "1" + strings.Repeat("}", 33),
			"body",
			"deeper than 32 levels",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got refusal
			if status := post(t, listener, tt.body, &got); status != http.StatusBadRequest || got.Code != "invalid_request" {
				t.Fatalf("status %d, %+v", status, got)
			}
			if got.Details.Member != tt.member || !strings.Contains(got.Error, tt.sentence) {
				t.Errorf("it names %q and lacks %q: %s", got.Details.Member, tt.sentence, got.Error)
			}
		})
	}
	for name, body := range map[string]string{
		"AsManyValues":    `{"name":"x","id":[` + strings.Repeat("0,", 9_996) + `0]}`,
		"ManyMembers":     `{"name":"x","id":{` + members(30) + `}}`,
		"ANameOf256":      `{"name":"x","id":{"` + strings.Repeat("n", 256) + `":1}}`,
		"ThirtyTwoLevels": nested(32),
		"Siblings":        `{"name":"x","id":[` + strings.Repeat("[],", 40) + `{"a":{}},{"a":{}}]}`,
		"EqualNames":      `{"name":"x","id":{"name":1,"id":{"name":2}}}`,
		"LargeNumbers":    `{"name":"x","id":[1e308,-1e308,99999999999999999999999999]}`,
		"SpaceAround":     " {\"name\":\"x\"}\n\t",
		"EscapedText":     `{"name":"x","id":"\u0001 \\u0000 \ud83d\udea8"}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got any
			if status := post(t, listener, body, &got); status != http.StatusOK {
				t.Errorf("status %d: %v", status, got)
			}
		})
	}
}

func TestAnswersDoNotEscapeHTML(t *testing.T) {
	t.Parallel()
	listener := server(t, func(*audit.Entry) {})
	var raw json.RawMessage
	if post(t, listener, `{"name":"<a&b>","config":{}}`, &raw); !strings.Contains(string(raw), `"<a&b>"`) {
		t.Errorf("answer %s", raw)
	}
}

func TestFields(t *testing.T) {
	t.Parallel()
	listener := server(t, func(*audit.Entry) {})
	for body, want := range map[string]string{
		`{"name":"x","config":{}}`:                                  `{"name":"x","config":{},"size":null,"enabled":null}`,
		`{"name":"x","config":{"a":null},"enabled":false}`:          `{"name":"x","config":{"a":null},"size":null,"enabled":false}`,
		`{"name":"x","config":{},"size":6e1,"id":null}`:             `{"name":"x","config":{},"size":60,"enabled":null}`,
		`{"name":"x","config":{ "b": 1.0},"size":9007199254740993}`: `{"name":"x","config":{"b":1.0},"size":9007199254740993,"enabled":null}`,
	} {
		var got struct {
			Data json.RawMessage `json:"data"`
		}
		if status := post(t, listener, body, &got); status != http.StatusOK || string(got.Data) != want {
			t.Errorf("%s: status %d, %s, want %s", body, status, got.Data, want)
		}
	}
	for body, members := range map[string][]string{
		`{"name":"x","config":null}`: nil, `{"name":"x","size":0.5}`: nil, `{"name":"x","size":1e300}`: nil, `{"name":"x","size":"1"}`: nil,
		`{"zone":1,"Name":"x","regions":[1,2],"enabled":null,"size":9223372036854775808,"config":[]}`: {
			"name", "config", "size", "regions", "enabled", "Name", "zone",
		},
	} {
		var got refusal
		status := post(t, listener, body, &got)
		var named []string
		for _, problem := range got.Details.Problems {
			named = append(named, problem.Member)
		}
		if status != http.StatusBadRequest || !slices.Equal(named, members) || got.Details.Member == "" {
			t.Errorf("%s: status %d, it names %v, want %v", body, status, named, members)
		}
	}
}

// TestPathsOfNamesWithSeparators pins the paths of members behind one whose name looks like
// a path itself.
func TestPathsOfNamesWithSeparators(t *testing.T) {
	t.Parallel()
	listener := server(t, func(*audit.Entry) {})
	var got refusal
	status := post(t, listener, `{"a.b[0].c":1,"d.e":2,"name":5,"regions":[1],"enabled":7}`, &got)
	var named []string
	for _, problem := range got.Details.Problems {
		named = append(named, problem.Member)
	}
	if want := []string{"name", "regions", "enabled", "a.b[0].c", "d.e"}; status != http.StatusBadRequest || !slices.Equal(named, want) {
		t.Errorf("status %d, it names %q, want %q", status, named, want)
	}
}

func TestAuditNamesMembers(t *testing.T) {
	t.Parallel()
	var entry *audit.Entry
	listener := server(t, func(e *audit.Entry) { entry = e })
	var got any
	if status := post(t, listener, `{"name":"secret","id":1,"config":{"url":1},"enabled":true}`, &got); status != http.StatusOK {
		t.Fatalf("status %d: %v", status, got)
	}
	if entry == nil || entry.Action != "item.create" || !slices.Equal(entry.Members, []string{"config", "enabled", "id", "name"}) {
		t.Errorf("entry %+v", entry)
	}
}
