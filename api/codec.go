// SPDX-License-Identifier: Apache-2.0

package api

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/api/accounts"
	"github.com/vigil-monitor/vigil/api/resource"
	"github.com/vigil-monitor/vigil/api/rest"
	"github.com/vigil-monitor/vigil/internal/account"
)

const (
	// codecRate is how many requests a minute an operator's account may make. The UI
	// makes one for each payload of a history that it shows.
	codecRate = 6000
	// codecCookie holds the session of an operator in a browser.
	codecCookie = "vigil_codec"
	// codecAuditEvery is how often the use of the endpoint by one credential is noted in the
	// audit log, in each process: the UI makes thousands of requests for one history.
	codecAuditEvery = 10 * time.Minute
	// preflightAge is for how many seconds a browser may remember a preflight.
	preflightAge = "600"
)

// codecEndpoint serves Temporal's remote codec protocol, for the Temporal UI and the
// temporal CLI. It is no part of /v1: payloads belong to all organizations, so only the
// operator's own account may use it, with an API key that has the scope admin. A browser
// exchanges the key for a session of this endpoint, because the UI sends cookies and no key.
type codecEndpoint struct {
	codec     http.Handler
	auth      *accounts.Authenticator
	addresses *rest.RateWindow // counts refused credentials
	window    *rest.RateWindow // counts requests of an account
	store     AuditStore
	tokens    *accounts.Signer
	noted     *resource.Cache[struct{}] // what the audit log has of each credential already
	origin    string                    // of the UI; empty: no page may call
	secure    bool                      // the API is reached by https
	pages     *accounts.Pages
}

// newCodecEndpoint returns nil when there is no codec.
func newCodecEndpoint(deps Deps, auth *accounts.Authenticator, addresses *rest.RateWindow) *codecEndpoint {
	if deps.Codec == nil {
		return nil
	}
	return &codecEndpoint{
		codec:     deps.Codec,
		auth:      auth,
		addresses: addresses,
		window:    rest.NewRateWindow(codecRate, time.Minute, deps.Now),
		store:     deps.Stores.Audit,
		tokens:    accounts.NewSigner(accounts.AudienceCodec, deps.Config.SigningKey, deps.Config.OlderSigningKeys, deps.Now),
		noted:     resource.NewCache[struct{}](codecAuditEvery, accounts.AuthEntries, deps.Now),
		origin:    deps.Config.TemporalUIOrigin,
		secure:    strings.HasPrefix(deps.Config.PublicURL, "https://"),
	}
}

// serve registers the endpoint.
func (c *codecEndpoint) serve(routes *resource.Routes, pages *accounts.Pages) {
	c.pages = pages
	for _, route := range []string{"/codec/encode", "/codec/decode"} {
		routes.Lenient("POST "+route, c.convert)
		routes.Lenient("OPTIONS "+route, c.preflight)
	}
	routes.Lenient("GET /codec", func(w http.ResponseWriter, r *http.Request) {
		pages.Show(
			w,
			r,
			http.StatusOK,
			accounts.Page{Title: "Read payloads in the Temporal UI", Action: "/codec", Buttons: []accounts.Button{{Label: "Sign in"}}, SignIn: true},
		)
	})
	routes.Lenient("POST /codec", pages.Use("codec.sign_in", c.signIn))
}

// preflight answers a browser that asks whether a page may call the endpoint (CORS, the
// Fetch standard).
func (c *codecEndpoint) preflight(w http.ResponseWriter, r *http.Request) {
	if err := c.allowOrigin(w, r); err != nil {
		rest.WriteError(r.Context(), w, err)
		return
	}
	header := w.Header()
	header.Set("Access-Control-Allow-Methods", http.MethodPost)
	header.Set("Access-Control-Allow-Headers", "Authorization, Authorization-Extras, Content-Type, X-Namespace")
	header.Set("Access-Control-Max-Age", preflightAge)
	w.WriteHeader(http.StatusNoContent)
}

// convert encodes or decodes the payloads of a request.
func (c *codecEndpoint) convert(w http.ResponseWriter, r *http.Request) {
	answer, err := c.answer(w, r)
	if err != nil {
		rest.WriteError(r.Context(), w, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(answer) // the client may be gone
}

func (c *codecEndpoint) answer(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if err := c.allowOrigin(w, r); err != nil {
		return nil, err
	}
	who, err := c.caller(r)
	if err != nil {
		return nil, err
	}
	if wait := c.window.Count(who.User.ID.String()); wait > 0 {
		return nil, rest.ErrTooMany("The account made too many requests to the codec endpoint", wait)
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, rest.MaxBody))
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		return nil, vigil.Errorf(vigil.CodeTooLarge, "The body must have at most 1 MiB.")
	}
	if err != nil {
		return nil, vigil.Errorf(vigil.CodeInvalid, "The body could not be read.")
	}
	if err := c.note(r.Context(), "codec."+path.Base(r.URL.Path), who); err != nil {
		return nil, err
	}
	inner := r.Clone(r.Context())
	inner.Body = io.NopCloser(bytes.NewReader(body))
	converted := &codecAnswer{header: make(http.Header), status: http.StatusOK}
	c.codec.ServeHTTP(converted, inner)
	if converted.status != http.StatusOK {
		return nil, vigil.Errorf(vigil.CodeInvalid, "The payloads cannot be converted: %s", strings.TrimSpace(converted.body.String()))
	}
	return converted.body.Bytes(), nil
}

// allowOrigin lets pages of the UI read the answer. A page of any other origin is refused;
// a program sends no origin.
func (c *codecEndpoint) allowOrigin(w http.ResponseWriter, r *http.Request) error {
	w.Header().Add("Vary", "Origin")
	origin := r.Header.Get("Origin")
	if origin == "" && r.Method != http.MethodOptions {
		return nil
	}
	if c.origin == "" || origin != c.origin {
		return vigil.Errorf(vigil.CodeForbidden,
			"Pages of this origin may not use the codec endpoint; VIGIL_TEMPORAL_UI_ORIGIN names the one that may.")
	}
	w.Header().Set("Access-Control-Allow-Origin", c.origin)
	w.Header().Set("Access-Control-Allow-Credentials", "true")
	return nil
}

// note records a use in the audit log, unless it did so lately.
func (c *codecEndpoint) note(ctx context.Context, action string, who *rest.Caller) error {
	name := action + "/" + who.User.ID.String() + "/" + who.Key.ID.String()
	if c.noted.Holds(name) {
		return nil
	}
	if err := c.record(ctx, action, who); err != nil {
		return err
	}
	c.noted.Keep(name, struct{}{})
	return nil
}

// record stores an entry of the audit log about what a caller does.
func (c *codecEndpoint) record(ctx context.Context, action string, who *rest.Caller) error {
	rest.RequestOf(ctx).Caller = who
	return c.store.RecordAudit(rest.WithAudit(ctx, action, nil))
}

// caller returns the operator who makes a request. A cookie counts only in a request of a
// page of the UI.
func (c *codecEndpoint) caller(r *http.Request) (*rest.Caller, error) {
	authorization, key := r.Header.Get("Authorization"), r.Header.Get("X-API-Key")
	if cookie, err := r.Cookie(codecCookie); err == nil && authorization == "" && key == "" && r.Header.Get("Origin") != "" {
		who, err := c.bySession(r.Context(), cookie.Value)
		return c.admit(r, who, err)
	}
	return c.identify(r, authorization, key)
}

// bySession returns the caller of a session: the key that it was made with. The key is looked up at
// each use, so the session ends with it.
func (c *codecEndpoint) bySession(ctx context.Context, token string) (*rest.Caller, error) {
	claims, err := c.tokens.Read(token)
	if err != nil {
		return nil, errCodecSession()
	}
	who, err := c.auth.ByKeyID(ctx, claims.Key)
	if vigil.ErrorCode(err) == vigil.CodeNotFound {
		return nil, errCodecSession()
	}
	if err != nil {
		return nil, err
	}
	if who.User.ID.String() != claims.Subject || who.User.SessionVersion != claims.Session {
		return nil, errCodecSession()
	}
	return who, nil
}

func errCodecSession() error {
	return vigil.Errorf(vigil.CodeUnauthorized, "The session has ended: open /codec and sign in again.")
}

// identify returns the operator whose credentials these are.
func (c *codecEndpoint) identify(r *http.Request, authorization, key string) (*rest.Caller, error) {
	who, err := c.auth.Identify(r.Context(), authorization, key)
	return c.admit(r, who, err)
}

// admit refuses who is not the operator, or lacks the scope. Wrong credentials count against
// the address.
func (c *codecEndpoint) admit(r *http.Request, who *rest.Caller, err error) (*rest.Caller, error) {
	if vigil.ErrorCode(err) == vigil.CodeUnauthorized {
		if wait := c.addresses.Count(rest.Network(rest.RequestOf(r.Context()).Address)); wait > 0 {
			return nil, rest.ErrTooMany("Too many requests from this address", wait)
		}
	}
	if err != nil {
		return nil, err
	}
	if !who.User.Operator {
		return nil, vigil.Errorf(vigil.CodeForbidden,
			"The codec endpoint reads payloads of every organization. It needs a key of the operator's account; `vigil keys create` makes one.")
	}
	if err := who.Require(account.ScopeAdmin); err != nil {
		return nil, err
	}
	return who, nil
}

// signIn exchanges an API key for a session in a cookie, which ends with the browser, with
// the key, and after seven days at most. SameSite=Strict lets only pages of the same site send it: the
// UI must be served by the same host, or the same registered domain, as the API.
func (c *codecEndpoint) signIn(w http.ResponseWriter, r *http.Request) (accounts.Page, error) {
	who, err := c.identify(r, "", r.PostForm.Get("key"))
	if err != nil {
		return accounts.Page{}, err
	}
	token, err := c.tokens.Sign(accounts.Claims{Session: who.User.SessionVersion, Key: who.Key.ID}, who.User.ID)
	if err != nil {
		return accounts.Page{}, err
	}
	if err := c.record(r.Context(), "codec.sign_in", who); err != nil {
		return accounts.Page{}, err
	}
	http.SetCookie(w, &http.Cookie{ //nolint:gosec // Secure wherever the API is reached by https
		Name: codecCookie, Value: token, Path: "/codec", HttpOnly: true, Secure: c.secure, SameSite: http.SameSiteStrictMode,
	})
	return accounts.Page{Title: "Signed in", Message: "The Temporal UI can read payloads in this browser now."}, nil
}

// codecAnswer keeps the answer of the codec's own handler, whose errors are plain text.
type codecAnswer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header returns the header of the answer, which is not used.
func (a *codecAnswer) Header() http.Header { return a.header }

// WriteHeader notes the status.
func (a *codecAnswer) WriteHeader(status int) { a.status = status }

// Write keeps a part of the body.
func (a *codecAnswer) Write(p []byte) (int, error) { return a.body.Write(p) }
