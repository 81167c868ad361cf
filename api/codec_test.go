// SPDX-License-Identifier: Apache-2.0

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
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/api"
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/internal/codec"
	"github.com/vigil-monitor/vigil/internal/secret"
)

const (
	operatorEmail = "operator@vigil.invalid"
	uiOrigin      = "http://ui.test:8233"
	formType      = "application/x-www-form-urlencoded"
)

// codecServer is an API with a codec endpoint, and the operator's key.
type codecServer struct {
	*testServer
	t    *testing.T
	user account.User // the operator
	key  string
}

func newCodecServer(t *testing.T, options ...func(*api.Deps)) *codecServer {
	t.Helper()
	keys, err := secret.NewKeyring(bytes.Repeat([]byte{1}, 32))
	if err != nil {
		t.Fatal(err)
	}
	b := setup(t, append([]func(*api.Deps){func(d *api.Deps) {
		d.Codec = codec.New(keys, true).Handler()
		d.Config.TemporalUIOrigin = uiOrigin
	}}, options...)...)
	return &codecServer{testServer: b, t: t}
}

// operator makes the operator's account, as `vigil up` does.
func (s *codecServer) operator() *codecServer {
	s.t.Helper()
	plain, kept, err := api.NewKey("bootstrap")
	if err != nil {
		s.t.Fatal(err)
	}
	s.user, _, err = s.store.CreateOperator(s.t.Context(), account.Organization{Name: "Operator", Tier: account.TierEnterprise},
		account.User{Email: operatorEmail, EmailVerified: true, Name: "operator"}, &kept)
	if err != nil {
		s.t.Fatal(err)
	}
	s.key = plain
	return s
}

// keyWith makes a key of the operator with scopes, and returns its id.
func (s *codecServer) keyWith(end *time.Time, scopes ...account.Scope) (plain, id string) {
	s.t.Helper()
	plain, kept, err := api.NewKey("a key")
	if err != nil {
		s.t.Fatal(err)
	}
	kept.Scopes, kept.ExpiresAt = scopes, end
	key, err := s.store.CreateKey(s.t.Context(), s.user.OrgID, s.user.ID, kept)
	if err != nil {
		s.t.Fatal(err)
	}
	return plain, key.ID.String()
}

// browser signs in with a key and returns the browser and its cookie.
func (s *codecServer) browser(key string) (*http.Client, *http.Cookie) {
	s.t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		s.t.Fatal(err)
	}
	browser := &http.Client{Jar: jar}
	res, body := s.send(browser, http.MethodPost, "/codec", url.Values{"key": {key}}.Encode(), "Content-Type", formType)
	if res.StatusCode != http.StatusOK || len(res.Cookies()) != 1 {
		s.t.Fatalf("signed in: %d %v %s", res.StatusCode, res.Cookies(), body)
	}
	return browser, res.Cookies()[0]
}

// actions counts the entries of the audit log by action.
func (s *codecServer) actions() map[string]int {
	s.t.Helper()
	counts := make(map[string]int)
	for _, row := range s.as(s.key).want(s.t, http.StatusOK, http.MethodGet, "/v1/audit-log?limit=100", nil).rows(s.t) {
		counts[text(row, "action")]++
	}
	return counts
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
		// The address alone proves nothing.
		key, kept, err := api.NewKey("squatter")
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = s.store.CreateAccount(t.Context(), account.Organization{Name: "Squatter"},
			account.User{Email: operatorEmail, EmailVerified: true, Operator: true}, &kept)
		if err != nil {
			t.Fatal(err)
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
		form := []string{"Content-Type", formType}
		if res, body := s.send(client, http.MethodGet, "/codec", ""); res.StatusCode != http.StatusOK || !strings.Contains(body, `name="key"`) {
			t.Errorf("the page: %d %s", res.StatusCode, body)
		}
		wrong, _ := s.send(client, http.MethodPost, "/codec", url.Values{"key": {s.signup(t).credential}}.Encode(), form...)
		if wrong.StatusCode != http.StatusForbidden || len(wrong.Cookies()) != 0 {
			t.Errorf("another organization: %d %v", wrong.StatusCode, wrong.Cookies())
		}
		browser, cookie := s.browser(s.key)
		if !cookie.HttpOnly || cookie.SameSite != http.SameSiteStrictMode {
			t.Fatalf("signed in: %v", cookie)
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

// TestCodecSession holds that a session of the codec endpoint opens that endpoint only, is no
// more than the key that it was made with, and ends with it.
func TestCodecSession(t *testing.T) {
	t.Parallel()
	client := &http.Client{}
	decode := func(s *codecServer, browser *http.Client, headers ...string) (*http.Response, string) {
		return s.send(browser, http.MethodPost, "/codec/decode", plainPayloads(), append(headers, "Origin", uiOrigin)...)
	}
	t.Run("TheTokenIsRefusedEverywhereElse", func(t *testing.T) {
		t.Parallel()
		s := newCodecServer(t).operator()
		_, cookie := s.browser(s.key)
		for _, request := range [][2]string{
			{http.MethodGet, "/v1/auth/me"},
			{http.MethodGet, "/v1/checks"},
			{http.MethodPost, "/v1/api-keys"},
			{http.MethodGet, "/v1/stream/alerts"},
		} {
			res, body := s.send(client, request[0], request[1], "", "Authorization", "Bearer "+cookie.Value)
			s.refused(res, body, http.StatusUnauthorized, vigil.CodeUnauthorized)
		}
		// Nor is it a credential of the endpoint itself but in the cookie, and a session token is no cookie.
		res, body := decode(s, client, "Authorization", "Bearer "+cookie.Value)
		s.refused(res, body, http.StatusUnauthorized, vigil.CodeUnauthorized)
		tenant := s.signup(t)
		for _, other := range []string{tenant.credential, tenant.key, s.key} {
			res, body = decode(s, client, "Cookie", cookie.Name+"="+other)
			s.refused(res, body, http.StatusUnauthorized, vigil.CodeUnauthorized)
		}
	})
	t.Run("NeedsTheScopeAdmin", func(t *testing.T) {
		t.Parallel()
		s := newCodecServer(t).operator()
		lesser, _ := s.keyWith(nil, account.ScopeRead, account.ScopeRespond, account.ScopeWrite)
		res, _ := s.send(client, http.MethodPost, "/codec", url.Values{"key": {lesser}}.Encode(), "Content-Type", formType)
		if res.StatusCode != http.StatusForbidden || len(res.Cookies()) != 0 {
			t.Errorf("sign-in without admin: %d %v", res.StatusCode, res.Cookies())
		}
		for _, path := range []string{"/codec/encode", "/codec/decode"} {
			res, body := s.send(client, http.MethodPost, path, plainPayloads(), "X-API-Key", lesser)
			s.refused(res, body, http.StatusForbidden, vigil.CodeForbidden)
		}
		admin, _ := s.keyWith(nil, account.ScopeAdmin)
		if res, body := s.send(client, http.MethodPost, "/codec/decode", plainPayloads(), "X-API-Key", admin); res.StatusCode != http.StatusOK {
			t.Errorf("with admin: %d %s", res.StatusCode, body)
		}
	})
	t.Run("EndsWithItsKey", func(t *testing.T) {
		t.Parallel()
		s := newCodecServer(t).operator()
		plain, id := s.keyWith(nil, account.ScopeAdmin)
		until := s.clock.Now().Add(time.Hour)
		short, _ := s.keyWith(&until, account.ScopeAdmin)
		revoked, _ := s.browser(plain)
		expired, _ := s.browser(short)
		for _, browser := range []*http.Client{revoked, expired} {
			if res, body := decode(s, browser); res.StatusCode != http.StatusOK {
				t.Fatalf("signed in: %d %s", res.StatusCode, body)
			}
		}
		s.as(s.key).want(t, http.StatusNoContent, http.MethodDelete, "/v1/api-keys/"+id, nil)
		res, body := decode(s, revoked)
		s.refused(res, body, http.StatusUnauthorized, vigil.CodeUnauthorized)
		if res, body = decode(s, expired); res.StatusCode != http.StatusOK {
			t.Errorf("the other key: %d %s", res.StatusCode, body)
		}
		s.clock.Advance(time.Hour)
		res, body = decode(s, expired)
		s.refused(res, body, http.StatusUnauthorized, vigil.CodeUnauthorized)
	})
	t.Run("EndsWhenTheOperatorSignsOutEverywhere", func(t *testing.T) {
		t.Parallel()
		s := newCodecServer(t).operator()
		browser, _ := s.browser(s.key)
		s.as(s.key).want(t, http.StatusNoContent, http.MethodDelete, "/v1/auth/sessions", nil)
		res, body := decode(s, browser)
		s.refused(res, body, http.StatusUnauthorized, vigil.CodeUnauthorized)
	})
	t.Run("IsAudited", func(t *testing.T) {
		t.Parallel()
		s := newCodecServer(t).operator()
		browser, _ := s.browser(s.key)
		for range 3 {
			decode(s, browser)
		}
		if got := s.actions(); got["codec.sign_in"] != 1 || got["codec.decode"] != 1 {
			t.Errorf("noted %v, want the sign-in, and the first use in ten minutes", got)
		}
		s.clock.Advance(10 * time.Minute)
		decode(s, browser)
		s.send(client, http.MethodPost, "/codec/encode", plainPayloads(), "X-API-Key", s.key)
		if got := s.actions(); got["codec.decode"] != 2 || got["codec.encode"] != 1 {
			t.Errorf("noted %v", got)
		}
	})
	t.Run("IsNotServedWithoutACodec", func(t *testing.T) {
		t.Parallel()
		s := newCodecServer(t, func(d *api.Deps) { d.Codec = nil }).operator()
		for _, path := range []string{"/codec", "/codec/decode", "/codec/encode"} {
			res, body := s.send(client, http.MethodPost, path, plainPayloads(), "X-API-Key", s.key)
			s.refused(res, body, http.StatusNotFound, vigil.CodeNotFound)
		}
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
