// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/config"
	"github.com/vigil-monitor/vigil/internal/egress"
)

const (
	// maxTokens bounds the access tokens that are kept.
	maxTokens = 10_000
	// tokenAge is how long a token is used whose answer does not say when it expires.
	tokenAge = time.Hour
	// tokenMargin is how long before its end a token is not used any more, at most a tenth of its
	// time.
	tokenMargin = 30 * time.Second
)

// OAuth2 are the client credentials that an HTTP check gets an access token with (RFC 6749,
// section 4.4).
type OAuth2 struct {
	TokenURL       string   `json:"token_url" title:"Token endpoint" form:"mono" place:"url" secret:"query" doc:"Address of the token endpoint. Values of query parameters with the names of credentials are secret" maxLength:"2048" example:"https://id.example.com/oauth2/token"`
	ClientID       string   `json:"client_id" title:"Client ID" form:"medium" sample:"" doc:"Client identifier" minLength:"1" maxLength:"512" example:"monitoring"`
	ClientSecret   string   `json:"client_secret" title:"Client secret" form:"medium" secret:"true" doc:"Client secret" minLength:"1" maxLength:"4096"`
	Scopes         []string `json:"scopes,omitempty" title:"Scopes" help:"One a line." form:"mono" sample:"" doc:"Scopes to ask for" maxItems:"20" maxLength:"256" example:"[\"orders:read\"]"`
	Audience       string   `json:"audience,omitempty" title:"Audience" help:"Only for servers that want one." form:"mono" sample:"" doc:"Value of the parameter audience, which some servers want" maxLength:"512" example:"https://api.example.com/"`
	Authentication string   `json:"client_authentication,omitempty" title:"Credentials are sent in" form:"medium" words:"header=the header|body=the body" doc:"Where the client's credentials are sent: in the header Authorization, or in the body (RFC 6749, section 2.3.1)" enum:"header,body" default:"header"`
}

// tokenRequest is an OAuth2 member that was read.
type tokenRequest struct {
	grant clientcredentials.Config
	key   [sha256.Size]byte // of everything that decides what the token is
	guard *egress.Guard
	opts  egress.ClientOptions
}

// parseOAuth2 reads the member oauth2, nil for none.
func (r *httpRequest) parseOAuth2(guard *egress.Guard) error {
	o := r.OAuth2
	if o == nil {
		return nil
	}
	if r.header.Get("Authorization") != "" {
		return vigil.Invalid("config.oauth2", "cannot be combined with basic_auth or an Authorization header")
	}
	address, err := parseURL(guard, "config.oauth2.token_url", o.TokenURL, "https", "http")
	if err != nil {
		return err
	}
	for i, scope := range o.Scopes {
		if scope == "" || strings.ContainsAny(scope, " \"\\") || !config.IsFieldValue(scope) {
			return vigil.Invalid(config.Element("config.oauth2.scopes", i), "must be one scope, without spaces and quotes")
		}
	}
	opts := r.client()
	opts.NoRedirects, opts.IPVersion, opts.AcceptEncoding = true, 0, ""
	asked := &tokenRequest{guard: guard, opts: opts, grant: clientcredentials.Config{
		ClientID: o.ClientID, ClientSecret: o.ClientSecret, TokenURL: address.String(), Scopes: o.Scopes, AuthStyle: oauth2.AuthStyleInHeader,
	}}
	if o.Authentication == "body" {
		asked.grant.AuthStyle = oauth2.AuthStyleInParams
	}
	if o.Audience != "" {
		asked.grant.EndpointParams = url.Values{"audience": {o.Audience}}
	}
	text, err := json.Marshal([]any{o, r.Proxy, r.ProxyAuth, r.TLS, r.VerifyTLS})
	if err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	asked.key = sha256.Sum256(text)
	r.token = asked
	return nil
}

// tokens keeps access tokens in the memory of the process, and nowhere else.
type tokens struct {
	mu    sync.Mutex
	known map[[sha256.Size]byte]keptToken
}

type keptToken struct {
	text  string
	until time.Time
}

func newTokens() *tokens { return &tokens{known: make(map[[sha256.Size]byte]keptToken)} }

// get returns a token that is known and still good, empty for none.
func (k *tokens) get(key [sha256.Size]byte, now time.Time) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	kept, ok := k.known[key]
	if ok && !now.Before(kept.until) {
		delete(k.known, key)
		return ""
	}
	return kept.text
}

// forget drops a token that the target did not accept.
func (k *tokens) forget(key [sha256.Size]byte, text string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.known[key].text == text {
		delete(k.known, key)
	}
}

func (k *tokens) keep(key [sha256.Size]byte, token *oauth2.Token, now time.Time) {
	life := tokenAge
	if !token.Expiry.IsZero() {
		life = token.Expiry.Sub(now)
		life -= min(tokenMargin, life/10)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.known) >= maxTokens {
		clear(k.known)
	}
	k.known[key] = keptToken{token.AccessToken, now.Add(life)}
}

// tokenFailure is why there is no access token.
type tokenFailure struct{ error }

func (f tokenFailure) Unwrap() error { return f.error }

// fetch asks the token endpoint.
func (a *tokenRequest) fetch(ctx context.Context, t *timeline) (*oauth2.Token, error) {
	t.step("requesting an access token")
	ctx = withoutValues{ctx}
	client := a.guard.Client(ctx, a.opts)                                          //nolint:contextcheck // it has the deadline of the other
	token, err := a.grant.Token(context.WithValue(ctx, oauth2.HTTPClient, client)) //nolint:contextcheck // as above
	if err != nil {
		return nil, tokenFailure{explainToken(err)}
	}
	if kind := token.Type(); !strings.EqualFold(kind, "Bearer") {
		return nil, tokenFailure{fail("the token has the type %s, expected Bearer", kind)}
	}
	if !config.IsFieldValue(token.AccessToken) {
		return nil, tokenFailure{fail("the token has characters that cannot be sent in a header (RFC 6750, section 2.1)")}
	}
	return token, nil
}

// explainToken words an answer of the token endpoint that is no token (RFC 6749, section 5.2).
// Errors of the network pass.
func explainToken(err error) error {
	if refused, ok := errors.AsType[*oauth2.RetrieveError](err); ok && refused.Response != nil {
		switch {
		case refused.ErrorCode != "" && refused.ErrorDescription != "":
			return fail("the token endpoint answered with the error %s: %s", refused.ErrorCode, refused.ErrorDescription)
		case refused.ErrorCode != "":
			return fail("the token endpoint answered with the error %s", refused.ErrorCode)
		}
		return fail("the token endpoint answered with the status %d, expected 200", refused.Response.StatusCode)
	}
	switch text := err.Error(); {
	case strings.Contains(text, "missing access_token"):
		return fail("the answer of the token endpoint has no access_token (RFC 6749, section 5.1)")
	case strings.Contains(text, "cannot fetch token"):
		return failUnanswered("the connection ended while the answer of the token endpoint was read")
	case strings.Contains(text, "cannot parse json"), strings.Contains(text, "cannot parse response"):
		return fail("the answer of the token endpoint is not JSON with an access_token (RFC 6749, section 5.1)")
	}
	return err
}

// authorize returns the request with an access token, and whether the token is a kept one. A
// token that cannot be had is an observation of its own.
func (p httpProbe) authorize(ctx context.Context) (authorized httpProbe, kept bool, failure *vigil.Observation) {
	asked := p.request.token
	text := p.tokens.get(asked.key, time.Now())
	if kept = text != ""; !kept {
		began := time.Now()
		seen := observe(ctx, p.guard, p.request.deadline, p.request.hidden, func(ctx context.Context, t *timeline) outcome {
			token, err := asked.fetch(ctx, t)
			if err == nil {
				text = token.AccessToken
				p.tokens.keep(asked.key, token, time.Now())
			}
			return outcome{metadata: HTTPMetadata{}, err: err}
		})
		if !seen.Success {
			return p, false, &seen
		}
		p.request.deadline = max(p.request.deadline-time.Since(began), time.Millisecond)
	}
	p.request.header = p.request.header.Clone()
	p.request.header.Set("Authorization", "Bearer "+text)
	p.request.hidden = p.request.hidden.With(redactable(text)...)
	return p, kept, nil
}

// withToken runs an exchange with an access token, and once more with a new one when the target
// does not accept one that was kept.
func (p httpProbe) withToken(ctx context.Context, exchange func(httpProbe) (vigil.Observation, answer)) (vigil.Observation, answer) {
	began := time.Now()
	authorized, kept, failure := p.authorize(ctx)
	if failure != nil {
		return *failure, answer{}
	}
	seen, got := exchange(authorized)
	if !kept || got.status != http.StatusUnauthorized || ctx.Err() != nil {
		return seen, got
	}
	left := p.request.deadline - time.Since(began)
	if left <= 0 {
		return seen, got
	}
	p.tokens.forget(p.request.token.key, strings.TrimPrefix(authorized.request.header.Get("Authorization"), "Bearer "))
	p.request.deadline = left
	if authorized, _, failure = p.authorize(ctx); failure != nil {
		return *failure, answer{}
	}
	return exchange(authorized)
}
