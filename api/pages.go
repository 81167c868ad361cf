// SPDX-License-Identifier: Apache-2.0

package api

import (
	"bytes"
	"context"
	"embed"
	"fmt"
	"html/template"
	"net/http"
	"unicode/utf8"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/api/rest"
	"github.com/vigil-monitor/vigil/internal/account"
)

// pageFiles are the pages that links in mails lead to.
//
//go:embed pages
var pageFiles embed.FS

// pagePolicy lets a page do nothing but send its own form.
const pagePolicy = "default-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; style-src 'unsafe-inline'"

// maxForm bounds the body of a form, in bytes.
const maxForm = 16 << 10

// page is what a page shows: a form that uses a token, or what became of it.
type page struct {
	Title   string
	Action  string // where the form goes
	Token   string
	Facts   []fact // what the reader decides by
	Note    string // above the buttons
	Buttons []button
	Recover bool // asks for a new password
	SignIn  bool // asks for an API key
	Message string
	Key     string
	Failed  bool
	Next    string // where the reader goes on; empty: nowhere
}

// fact is a line of a page.
type fact struct{ Name, Value string }

// button sends the form, with a field of its own when it has a name.
type button struct{ Label, Name, Value string }

// pages shows the pages of mailed links. Following a link changes nothing, since
// mail scanners follow links too: its page has a button that does.
type pages struct {
	store         recoveryStore
	verifications *verifications
	recipients    recipientStore
	auth          *authenticator
	passwords     *passwords
	mail          *accountMail
	addresses     *rest.RateWindow
	template      *template.Template
}

// recoveryStore uses the token of a recovery link.
type recoveryStore interface {
	CheckRecovery(ctx context.Context, hash []byte) error
	Recover(ctx context.Context, hash []byte, key account.NewKey, passwordHash string) (account.User, error)
}

// serve registers the pages.
func (p *pages) serve(routes *routes) error {
	parsed, err := template.ParseFS(pageFiles, "pages/page.html")
	if err != nil {
		return fmt.Errorf("read the pages: %w", err)
	}
	p.template = parsed
	routes.lenient("GET /verify", p.describe(p.describeVerification))
	routes.lenient("GET /recover", p.form(page{
		Title: "Get back into your account", Action: "/recover", Recover: true, Buttons: []button{{Label: "Make a new API key"}},
		Note: "This ends every API key, session and password that the account has.",
	}))
	routes.lenient("GET /email-change", p.describe(p.describeChange))
	routes.lenient("GET /confirm-recipient", p.describe(p.describeRecipient))
	routes.lenient("GET /unsubscribe", p.describe(p.describeSubscription))
	routes.lenient("POST /verify", p.use("account.verify", p.verify))
	routes.lenient("POST /recover", p.use("account.recover", p.recover))
	routes.lenient("POST /email-change", p.use(actionApproveChange, p.answerChange))
	routes.lenient("POST /confirm-recipient", p.use(actionConfirm, p.answerRecipient))
	routes.lenient("POST /unsubscribe", p.use(actionUnsubscribe, p.unsubscribe))
	return nil
}

// form shows the form of a link.
func (p *pages) form(shown page) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		shown := shown
		shown.Token = r.URL.Query().Get("token")
		p.show(w, r, http.StatusOK, shown)
	}
}

// describe shows the form of a link whose token says what the form is about. A token that
// is not valid gets the same form without facts, which says so when it is sent.
func (p *pages) describe(describe func(ctx context.Context, token string) (page, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if wait := p.addresses.Count(rest.Network(rest.RequestOf(r.Context()).Address)); wait > 0 {
			p.fail(w, r, rest.ErrTooMany("Too many requests from this address", wait))
			return
		}
		token := r.URL.Query().Get("token")
		shown, err := describe(r.Context(), token)
		if err != nil && vigil.ErrorCode(err) != vigil.CodeInvalid {
			p.fail(w, r, err)
			return
		}
		shown.Action, shown.Token = r.URL.Path, token
		p.show(w, r, http.StatusOK, shown)
	}
}

// use does what a form asks for and shows what became of it.
func (p *pages) use(action string, act func(http.ResponseWriter, *http.Request) (page, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx := rest.WithAudit(r.Context(), action, nil)
		if wait := p.addresses.Count(rest.Network(rest.RequestOf(ctx).Address)); wait > 0 {
			p.fail(w, r, rest.ErrTooMany("Too many requests from this address", wait))
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, maxForm)
		if err := r.ParseForm(); err != nil {
			p.fail(w, r, vigil.Errorf(vigil.CodeInvalid, "The form could not be read."))
			return
		}
		shown, err := act(w, r.WithContext(ctx))
		if err != nil {
			p.fail(w, r, err)
			return
		}
		p.show(w, r, http.StatusOK, shown)
	}
}

func (p *pages) recover(_ http.ResponseWriter, r *http.Request) (page, error) {
	ctx := r.Context()
	plain, key, err := NewKey("recovery")
	if err != nil {
		return page{}, err
	}
	hash := ""
	if password := r.PostForm.Get("password"); password != "" {
		if n := utf8.RuneCountInString(password); n < minPassword || n > maxPassword {
			return page{}, vigil.Invalid("password", "must have from %d to %d characters; go back and choose another", minPassword, maxPassword)
		}
		if err := p.store.CheckRecovery(ctx, hashToken(r.PostForm.Get("token"))); err != nil {
			return page{}, err
		}
		if hash, err = p.passwords.hash(ctx, password); err != nil {
			return page{}, err
		}
	}
	user, err := p.store.Recover(ctx, hashToken(r.PostForm.Get("token")), key, hash)
	if err != nil {
		return page{}, err
	}
	p.auth.forgetUser(user.ID)
	p.mail.recovered(ctx, user, key, hash != "")
	next := "/app/sign-in"
	if hash == "" {
		next = "" // there is no password to sign in with
	}
	return page{Title: "Your new API key", Message: "Copy it now: it is shown this once and never again.", Key: plain, Next: next}, nil
}

// fail shows an error.
func (p *pages) fail(w http.ResponseWriter, r *http.Request, err error) {
	view := rest.ErrorOf(r.Context(), err)
	for name, values := range view.GetHeaders() {
		w.Header()[name] = values
	}
	p.show(w, r, view.GetStatus(), page{Title: "That did not work", Message: view.Message, Failed: true})
}

func (p *pages) show(w http.ResponseWriter, r *http.Request, status int, shown page) {
	var body bytes.Buffer
	if err := p.template.Execute(&body, shown); err != nil {
		rest.WriteError(r.Context(), w, err)
		return
	}
	header := w.Header()
	header.Set("Content-Type", "text/html; charset=utf-8")
	header.Set("Content-Security-Policy", pagePolicy)
	header.Set("Referrer-Policy", "no-referrer") // the address holds the token
	header.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(body.Bytes()) // the client may be gone
}
