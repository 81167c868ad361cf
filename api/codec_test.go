package api_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"

	"vigil"
	"vigil/api"
	"vigil/codec"
)

const (
	operatorEmail = "operator@vigil.invalid"
	uiOrigin      = "http://ui.test:8233"
)

// codecServer is an API with a codec endpoint, and the operator's key.
type codecServer struct {
	*testServer
	t   *testing.T
	key string
}

func newCodecServer(t *testing.T, options ...func(*api.Deps)) *codecServer {
	t.Helper()
	keys, err := vigil.NewKeyring(bytes.Repeat([]byte{1}, 32))
	if err != nil {
		t.Fatal(err)
	}
	b := setup(t, append(options, func(d *api.Deps) {
		d.Codec = codec.New(keys, true).Handler()
		d.Config.TemporalUIOrigin, d.Config.OperatorEmail = uiOrigin, operatorEmail
	})...)
	return &codecServer{testServer: b, t: t}
}

// operator makes the operator's account, as `vigil up` does.
func (s *codecServer) operator() *codecServer {
	s.t.Helper()
	plain, kept, err := api.NewKey("bootstrap")
	if err != nil {
		s.t.Fatal(err)
	}
	_, _, err = s.store.CreateAccount(s.t.Context(), vigil.Organization{Name: "Operator", Tier: vigil.TierEnterprise},
		vigil.User{Email: operatorEmail, EmailVerified: true, Name: "operator"}, &kept)
	if err != nil {
		s.t.Fatal(err)
	}
	s.key = plain
	return s
}

// send makes a request with headers, given as name and value in turn.
func (s *codecServer) send(with *http.Client, method, path, body string, headers ...string) (*http.Response, string) {
	s.t.Helper()
	req, err := http.NewRequestWithContext(context.WithoutCancel(s.t.Context()), method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := with.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	got, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return res, string(got)
}

// refused fails unless an answer is an error in the API's own form.
func (s *codecServer) refused(res *http.Response, body string, status int, code vigil.Code) {
	s.t.Helper()
	var view struct {
		Error     string     `json:"error"`
		Code      vigil.Code `json:"code"`
		RequestID string     `json:"request_id"`
	}
	err := json.Unmarshal([]byte(body), &view)
	if err != nil || res.StatusCode != status || view.Code != code || view.Error == "" || view.RequestID == "" {
		s.t.Errorf("got %d %s, want %d %s", res.StatusCode, body, status, code)
	}
}

func plainPayloads() string {
	text := func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }
	return `{"payloads":[{"metadata":{"encoding":"` + text("json/plain") + `"},"data":"` + text(`"a note"`) + `"}]}`
}

func TestCodecEndpoint(t *testing.T) {
	t.Parallel()
	client := &http.Client{}
	t.Run("EncodesAndDecodesForTheOperator", func(t *testing.T) {
		t.Parallel()
		s := newCodecServer(t).operator()
		auth := []string{"Authorization", "Bearer " + s.key, "Content-Type", "application/json", "X-Namespace", "vigil"}
		res, encoded := s.send(client, http.MethodPost, "/codec/encode", plainPayloads(), auth...)
		if res.StatusCode != http.StatusOK || strings.Contains(encoded, base64.StdEncoding.EncodeToString([]byte(`"a note"`))) {
			t.Fatalf("encode: %d %s", res.StatusCode, encoded)
		}
		res, decoded := s.send(client, http.MethodPost, "/codec/decode?preserveStorageRefs=true", encoded, auth...)
		var got, want any
		if json.Unmarshal([]byte(decoded), &got) != nil || json.Unmarshal([]byte(plainPayloads()), &want) != nil ||
			res.StatusCode != http.StatusOK || res.Header.Get("Content-Type") != "application/json" {
			t.Fatalf("decode: %d %s", res.StatusCode, decoded)
		}
		if a, b := canonical(t, got), canonical(t, want); a != b {
			t.Errorf("decoded %s, want %s", a, b)
		}
	})
	t.Run("NeedsTheOperatorsKey", func(t *testing.T) {
		t.Parallel()
		s := newCodecServer(t)
		// Anyone may sign up with the reserved address before the operator's account exists.
		squatter := s.want(t, http.StatusCreated, http.MethodPost, "/v1/auth/quick-signup",
			map[string]any{"email": operatorEmail, "org_name": "Squatter"}).data(t)
		key, _ := squatter["api_key"].(string)
		if key == "" {
			t.Fatalf("signed up without a key: %v", squatter)
		}
		tenant := s.signup(t)
		for _, path := range []string{"/codec/encode", "/codec/decode"} {
			res, body := s.send(client, http.MethodPost, path, plainPayloads())
			s.refused(res, body, http.StatusUnauthorized, vigil.CodeUnauthorized)
			for _, other := range []string{key, tenant.credential} {
				res, body = s.send(client, http.MethodPost, path, plainPayloads(), "Authorization", "Bearer "+other)
				s.refused(res, body, http.StatusForbidden, vigil.CodeForbidden)
			}
		}
	})
	t.Run("WrongBodiesAreErrors", func(t *testing.T) {
		t.Parallel()
		s := newCodecServer(t).operator()
		auth := []string{"X-API-Key", s.key}
		foreign := strings.Replace(plainPayloads(), base64.StdEncoding.EncodeToString([]byte("json/plain")),
			base64.StdEncoding.EncodeToString([]byte(codec.Encoding)), 1)
		for _, body := range []string{"", "{", `{"payloads":1}`, foreign} {
			res, got := s.send(client, http.MethodPost, "/codec/decode", body, auth...)
			if body == "" {
				continue // no payloads
			}
			s.refused(res, got, http.StatusBadRequest, vigil.CodeInvalid)
		}
		res, got := s.send(client, http.MethodPost, "/codec/decode", strings.Repeat(" ", 1<<20)+"{}", auth...)
		s.refused(res, got, http.StatusRequestEntityTooLarge, vigil.CodeTooLarge)
		res, got = s.send(client, http.MethodGet, "/codec/decode", "", auth...)
		s.refused(res, got, http.StatusMethodNotAllowed, vigil.CodeMethod)
	})
	t.Run("OnlyPagesOfTheUIMayCall", func(t *testing.T) {
		t.Parallel()
		s := newCodecServer(t).operator()
		ask := []string{"Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "authorization,x-namespace"}
		res, _ := s.send(client, http.MethodOptions, "/codec/decode", "", append(ask, "Origin", uiOrigin)...)
		allowed := strings.ToLower(res.Header.Get("Access-Control-Allow-Headers"))
		if res.StatusCode != http.StatusNoContent || res.Header.Get("Access-Control-Allow-Origin") != uiOrigin ||
			res.Header.Get("Access-Control-Allow-Credentials") != "true" || res.Header.Get("Access-Control-Allow-Methods") != "POST" ||
			!strings.Contains(allowed, "x-namespace") || !strings.Contains(allowed, "authorization") {
			t.Errorf("preflight: %d %v", res.StatusCode, res.Header)
		}
		for _, origin := range []string{"http://evil.test", "null", uiOrigin + ".evil.test", strings.ToUpper(uiOrigin)} {
			res, body := s.send(client, http.MethodOptions, "/codec/decode", "", append(ask, "Origin", origin)...)
			s.refused(res, body, http.StatusForbidden, vigil.CodeForbidden)
			if res.Header.Get("Access-Control-Allow-Origin") != "" {
				t.Errorf("%s is allowed", origin)
			}
			res, body = s.send(client, http.MethodPost, "/codec/decode", plainPayloads(), "Origin", origin, "X-API-Key", s.key)
			s.refused(res, body, http.StatusForbidden, vigil.CodeForbidden)
		}
		res, body := s.send(client, http.MethodPost, "/codec/decode", plainPayloads(), "Origin", uiOrigin)
		s.refused(res, body, http.StatusUnauthorized, vigil.CodeUnauthorized)
		if res.Header.Get("Access-Control-Allow-Origin") != uiOrigin {
			t.Error("the page cannot read why it was refused")
		}
	})
	t.Run("ABrowserSignsInOnce", func(t *testing.T) {
		t.Parallel()
		s := newCodecServer(t).operator()
		jar, err := cookiejar.New(nil)
		if err != nil {
			t.Fatal(err)
		}
		browser := &http.Client{Jar: jar}
		form := []string{"Content-Type", "application/x-www-form-urlencoded"}
		if res, body := s.send(browser, http.MethodGet, "/codec", ""); res.StatusCode != http.StatusOK || !strings.Contains(body, `name="key"`) {
			t.Errorf("the page: %d %s", res.StatusCode, body)
		}
		wrong, _ := s.send(browser, http.MethodPost, "/codec", url.Values{"key": {s.signup(t).credential}}.Encode(), form...)
		if wrong.StatusCode != http.StatusForbidden || len(wrong.Cookies()) != 0 {
			t.Errorf("another organization: %d %v", wrong.StatusCode, wrong.Cookies())
		}
		right, _ := s.send(browser, http.MethodPost, "/codec", url.Values{"key": {s.key}}.Encode(), form...)
		if len(right.Cookies()) != 1 || !right.Cookies()[0].HttpOnly || right.Cookies()[0].SameSite != http.SameSiteStrictMode {
			t.Fatalf("signed in: %d %v", right.StatusCode, right.Cookies())
		}
		if res, body := s.send(browser, http.MethodPost, "/codec/decode", plainPayloads(), "Origin", uiOrigin); res.StatusCode != http.StatusOK {
			t.Errorf("a page of the UI: %d %s", res.StatusCode, body)
		}
		res, body := s.send(browser, http.MethodPost, "/codec/decode", plainPayloads())
		s.refused(res, body, http.StatusUnauthorized, vigil.CodeUnauthorized)
		res, body = s.send(browser, http.MethodGet, "/v1/checks", "", "Origin", uiOrigin)
		s.refused(res, body, http.StatusUnauthorized, vigil.CodeUnauthorized)
	})
	t.Run("WrongKeysAreSlowedDown", func(t *testing.T) {
		t.Parallel()
		s := newCodecServer(t, func(d *api.Deps) { d.Config.AddressRate = 3 })
		for range 3 {
			res, body := s.send(client, http.MethodPost, "/codec/decode", plainPayloads(), "X-API-Key", "vk_wrong")
			s.refused(res, body, http.StatusUnauthorized, vigil.CodeUnauthorized)
		}
		res, body := s.send(client, http.MethodPost, "/codec/decode", plainPayloads(), "X-API-Key", "vk_wrong")
		s.refused(res, body, http.StatusTooManyRequests, vigil.CodeRateLimited)
	})
}

// canonical encodes a decoded document, with its members in order.
func canonical(t *testing.T, tree any) string {
	t.Helper()
	out, err := json.Marshal(tree)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}
