// SPDX-License-Identifier: Apache-2.0

package accounts

import (
	"bytes"
	"context"
	"embed"
	"fmt"
	"html/template"
	"net/http"
	"unicode/utf8"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/api/resource"
	"github.com/vigil-monitor/vigil/api/rest"
	"github.com/vigil-monitor/vigil/internal/account"
)

// pageFiles are the pages that links in mails lead to.
//
//go:embed pages
var pageFiles embed.FS

// pagePolicy lets a page do nothing but send its own form.
const pagePolicy = "default-src 'none'; " +
	"base-uri 'none'; form-action 'self'; frame-ancestors 'none'; img-src data:; style-src 'unsafe-inline'"

// maxForm bounds the body of a form, in bytes.
const maxForm = 16 << 10

// Page is what a page shows: a form that uses a token, or what became of it.
type Page struct {
	Title   string
	Action  string // where the form goes
	Token   string
	Facts   []Fact // what the reader decides by
	Note    string // above the buttons
	Buttons []Button
	Recover bool // asks for a new password
	SignIn  bool // asks for an API key
	Message string
	Key     string
	Failed  bool
	Next    string // where the reader goes on; empty: nowhere
}

// Fact is a line of a page.
type Fact struct{ Name, Value string }

// Button sends the form, with a field of its own when it has a name.
type Button struct{ Label, Name, Value string }

// Pages shows the pages of mailed links. Following a link changes nothing, since
// mail scanners follow links too: its page has a button that does.
type Pages struct {
	store         recoveryStore
	verifications *verifications
	recipients    RecipientStore
	auth          *Authenticator
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

// Serve registers the pages.
func (p *Pages) Serve(routes *resource.Routes) error {
	parsed, err := template.ParseFS(pageFiles, "pages/page.html")
	if err != nil {
		return fmt.Errorf("read the pages: %w", err)
	}
	p.template = parsed
	routes.Lenient("GET /verify", p.Describe(p.describeVerification))
	routes.Lenient("GET /recover", p.form(Page{
		Title: "Get back into your account", Action: "/recover", Recover: true, Buttons: []Button{{Label: "Make a new API key"}},
		Note: "This ends every API key, session and password that the account has.",
	}))
	routes.Lenient("GET /email-change", p.Describe(p.describeChange))
	routes.Lenient("GET /confirm-recipient", p.Describe(p.describeRecipient))
	routes.Lenient("GET /unsubscribe", p.Describe(p.describeSubscription))
	routes.Lenient("POST /verify", p.Use("account.verify", p.verify))
	routes.Lenient("POST /recover", p.Use("account.recover", p.recover))
	routes.Lenient("POST /email-change", p.Use(actionApproveChange, p.answerChange))
	routes.Lenient("POST /confirm-recipient", p.Use(actionConfirm, p.answerRecipient))
	routes.Lenient("POST /unsubscribe", p.Use(actionUnsubscribe, p.unsubscribe))
	return nil
}

// form shows the form of a link.
func (p *Pages) form(shown Page) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		shown := shown
		shown.Token = r.URL.Query().Get("token")
		p.Show(w, r, http.StatusOK, shown)
	}
}

// Describe shows the form of a link whose token says what the form is about. A token that
// is not valid gets the same form without facts, which says so when it is sent.
func (p *Pages) Describe(describe func(ctx context.Context, token string) (Page, error)) http.HandlerFunc {
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
		p.Show(w, r, http.StatusOK, shown)
	}
}

// Use does what a form asks for and shows what became of it.
func (p *Pages) Use(action string, act func(http.ResponseWriter, *http.Request) (Page, error)) http.HandlerFunc {
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
		p.Show(w, r, http.StatusOK, shown)
	}
}

func (p *Pages) recover(_ http.ResponseWriter, r *http.Request) (Page, error) {
	ctx := r.Context()
	plain, key, err := NewKey("recovery")
	if err != nil {
		return Page{}, err
	}
	hash := ""
	if password := r.PostForm.Get("password"); password != "" {
		if n := utf8.RuneCountInString(password); n < minPassword || n > maxPassword {
			return Page{}, vigil.Invalid("password", "must have from %d to %d characters; go back and choose another", minPassword, maxPassword)
		}
		if err := p.store.CheckRecovery(ctx, hashToken(r.PostForm.Get("token"))); err != nil {
			return Page{}, err
		}
		if hash, err = p.passwords.hash(ctx, password); err != nil {
			return Page{}, err
		}
	}
	user, err := p.store.Recover(ctx, hashToken(r.PostForm.Get("token")), key, hash)
	if err != nil {
		return Page{}, err
	}
	p.auth.forgetUser(user.ID)
	p.mail.recovered(ctx, user, key, hash != "")
	next := "/app/sign-in"
	if hash == "" {
		next = "" // there is no password to sign in with
	}
	return Page{Title: "Your new API key", Message: "Copy it now: it is shown this once and never again.", Key: plain, Next: next}, nil
}

// fail shows an error.
func (p *Pages) fail(w http.ResponseWriter, r *http.Request, err error) {
	view := rest.ErrorOf(r.Context(), err)
	for name, values := range view.GetHeaders() {
		w.Header()[name] = values
	}
	p.Show(w, r, view.GetStatus(), Page{Title: "That did not work", Message: view.Message, Failed: true})
}

// Show answers with a page.
func (p *Pages) Show(w http.ResponseWriter, r *http.Request, status int, shown Page) {
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
