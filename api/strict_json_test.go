package api_test

import (
	"net/http"
	"strings"
	"testing"
)

// TestStrictJSON pins what a request body may not be, where a lenient decoder
// would accept it or blame another member.
func TestStrictJSON(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.signup(t)
	for name, tt := range map[string]struct {
		path, body, member, sentence string
	}{
		"TwoValues":                      {"/v1/checks", checkWith("name", `"x"`) + " {}", "body", "more than one JSON value"},
		"ABracketTooMany":                {"/v1/checks", checkWith("name", `"x"`) + "]", "body", "more than one JSON value"},
		"ANumberOutOfRangeThatIsIgnored": {"/v1/checks", checkWith("last_checked", "1e999"), "last_checked", "number"},
		"ANumberOutOfRangeInAConfig":     {"/v1/checks", checkWith("config", `{"url":"https://example.com/","retries":[0,-1e999]}`), "config.retries[1]", "number"},
		"ANumberOutOfRangeOfAKey":        {"/v1/api-keys", `{"name":"x","id":1e999}`, "id", "number"},
		"ADuplicateThatIsIgnored":        {"/v1/checks", `{"id":1,"id":2}`, "id", "more than once"},
		"ADuplicateInAnArray":            {"/v1/checks", checkWith("config", `{"steps":[{},{"a":{"b":1,"b":1}}]}`), "config.steps[1].a.b", "more than once"},
		"NULInAnIgnoredMember":           {"/v1/checks", checkWith("id", `"a\u0000"`), "id", "NUL"},
		"NULInAnArray":                   {"/v1/checks", checkWith("regions", `["na-east-ewr","\u0000"]`), "regions[1]", "NUL"},
		"ALoneSurrogateInAName":          {"/v1/checks", checkWith("config", `{"\udc00":1}`), "config.\ufffd", "Unicode"},
		"CutOffInANumber":                {"/v1/checks", `{"name":1`, "body", "ends too early"},
		"NoValue":                        {"/v1/checks", `{"name":}`, "body", "not valid JSON near byte"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := a.want(t, http.StatusBadRequest, http.MethodPost, tt.path, tt.body)
			if r.detail("member") != tt.member || !strings.Contains(r.problem(), tt.sentence) {
				t.Errorf("it names %q and lacks %q: %s", r.detail("member"), tt.sentence, r.raw)
			}
		})
	}

	t.Run("DepthIsBounded", func(t *testing.T) {
		t.Parallel()
		nested := func(levels int) string {
			return `{"name":"x","id":` + strings.Repeat("[", levels-1) + strings.Repeat("]", levels-1) + `}`
		}
		a.want(t, http.StatusCreated, http.MethodPost, "/v1/api-keys", nested(32))
		if r := a.want(t, http.StatusBadRequest, http.MethodPost, "/v1/api-keys", nested(33)); !strings.Contains(r.problem(), "deeper than 32 levels") {
			t.Errorf("answer %s", r.raw)
		}
	})

	t.Run("SiblingsAreNotNested", func(t *testing.T) {
		t.Parallel()
		a.want(t, http.StatusCreated, http.MethodPost, "/v1/api-keys", `{"name":"x","id":[`+strings.Repeat("[],", 40)+`{}]}`)
	})

	t.Run("HTMLIsNotEscapedInAnswers", func(t *testing.T) {
		t.Parallel()
		if r := a.want(t, http.StatusCreated, http.MethodPost, "/v1/api-keys", `{"name":"<a&b>"}`); !strings.Contains(string(r.raw), `"<a&b>"`) {
			t.Errorf("answer %s", r.raw)
		}
	})
}
