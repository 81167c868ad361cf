// SPDX-License-Identifier: Apache-2.0

package statuspage

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/overview"
)

// readerAsks is how many readers a network may ask for in ten minutes.
const readerAsks = 5

// ReaderStore keeps who wants the messages of pages.
type ReaderStore interface {
	// AskReader is CodeRateLimited or CodePlanLimit where there is no room for another one.
	AskReader(ctx context.Context, r overview.Reader) error
	// StatusReader returns a reader and the title of its page; CodeNotFound.
	StatusReader(ctx context.Context, id uuid.UUID) (overview.Reader, string, error)
	ConfirmReader(ctx context.Context, id uuid.UUID) error
	RemoveReader(ctx context.Context, id uuid.UUID) error
}

// Readers let people subscribe to a page on it.
type Readers struct {
	Store ReaderStore
	// CheckEmail and CheckHook say what is wrong with an address, in words that do not repeat it.
	CheckEmail, CheckHook func(address string) error
	// NewSecret makes a secret that signs the messages to a webhook.
	NewSecret func() (string, error)

	asks *window
}

// servesReader answers what readers do about their messages, where the action is one of that.
func (s *Server) servesReader(w http.ResponseWriter, r *http.Request, at spot, page *made, action string) bool {
	if action != "subscribe" || s.Readers == nil || !page.view.Page.Subscriptions || !s.admitted(w, r, page) {
		return false
	}
	if r.Method == http.MethodPost {
		s.subscribe(w, r, at, page)
	} else {
		s.say(w, r, http.StatusOK, subscribeForm(at, page, "", "", ""))
	}
	return true
}

func subscribeForm(at spot, page *made, email, hook, wrong string) message {
	back := "/"
	if !at.atHost {
		back = "/status/" + at.slug
	}
	return message{
		Title: "Subscribe to " + page.view.Page.Title,
		Detail: "Be notified when an incident or maintenance begins and ends, and what is published about it. Give one of the two. " +
			"Every message has a link to unsubscribe, which also deletes your address here.",
		Back: back,
		Form: &form{
			Action: formAction(at, "subscribe"), Button: "Subscribe", Error: wrong,
			Fields: []field{
				{Name: "email", Label: "By mail", Type: "email", Value: email, Complete: "email", Help: "A mail with a button asks you to confirm it."},
				{
					Name: "webhook", Label: "By webhook", Type: "url", Value: hook,
					Help: "An https address of yours. It gets a signed POST, and confirms by an answer with the challenge in it.",
				},
			},
		},
	}
}

// subscribe takes the form. The answer is the same whether an address is known or not.
func (s *Server) subscribe(w http.ResponseWriter, r *http.Request, at spot, page *made) {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		s.say(w, r, http.StatusBadRequest, subscribeForm(at, page, "", "", "The form could not be read. Please try again."))
		return
	}
	email, hook := strings.TrimSpace(r.PostForm.Get("email")), strings.TrimSpace(r.PostForm.Get("webhook"))
	refuse := func(status int, why string) { s.say(w, r, status, subscribeForm(at, page, email, hook, why)) }
	reader := overview.Reader{
		OrgID:   page.view.Page.OrgID,
		PageID:  page.view.Page.ID,
		Kind:    overview.ReaderEmail,
		Address: strings.ToLower(email),
	}
	var err error
	switch {
	case (email == "") == (hook == ""):
		refuse(http.StatusUnprocessableEntity, "Give a mail address or the address of a webhook, one of the two.")
		return
	case email != "":
		err = s.Readers.CheckEmail(email)
	default:
		reader.Kind, reader.Address = overview.ReaderWebhook, hook
		err = s.Readers.CheckHook(hook)
	}
	if err != nil {
		refuse(http.StatusUnprocessableEntity, "The address "+err.Error()+".")
		return
	}
	if wait := s.Readers.asks.count(s.Network(r), 1); wait > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(wait.Seconds())+1))
		refuse(http.StatusTooManyRequests, "You have asked often. Please wait some minutes.")
		return
	}
	if reader.ID, err = uuid.NewV7(); err == nil && reader.Kind == overview.ReaderWebhook {
		reader.Secret, err = s.Readers.NewSecret()
	}
	if err == nil {
		err = s.Readers.Store.AskReader(r.Context(), reader)
	}
	switch vigil.ErrorCode(err) {
	case "":
	case vigil.CodeRateLimited:
		refuse(http.StatusTooManyRequests, "Too many people ask at the moment. Please try again later.")
		return
	case vigil.CodePlanLimit:
		refuse(http.StatusForbidden, "This page takes no more subscribers.")
		return
	default:
		s.fail(w, r, err)
		return
	}
	says := message{
		Title:  "Look into your mailbox",
		Detail: "If this address is not subscribed yet, a mail with a link to confirm it is on its way. The link works for 48 hours.",
		Back:   subscribeForm(at, page, "", "", "").Back,
	}
	if reader.Kind == overview.ReaderWebhook {
		says.Title = "The webhook is asked"
		says.Detail = "If this address is not subscribed yet, it gets a POST with a challenge within a minute, and is subscribed once it " +
			"answers with the text of the challenge. Its messages are signed as Standard Webhooks describes, with the secret that is in that POST."
	}
	s.say(w, r, http.StatusAccepted, says)
}

// Tokens are the links of messages: signatures, so that none is stored.
type Tokens struct {
	// Keys: the first signs, and all are accepted.
	Keys [][]byte
}

// Confirm returns the token by which a reader confirms until a time.
func (t Tokens) Confirm(reader uuid.UUID, until time.Time) string {
	text := strconv.FormatInt(until.Unix(), 10)
	return reader.String() + "." + text + "." + signed(t.Keys[0], []string{"confirm", reader.String(), text})
}

// Leave returns the token by which a reader unsubscribes, at any time.
func (t Tokens) Leave(reader uuid.UUID) string {
	return reader.String() + "." + signed(t.Keys[0], []string{"leave", reader.String()})
}

// read returns the reader of a token for a purpose; uuid.Nil for one that is wrong or too old.
func (t Tokens) read(purpose, token string, now time.Time) uuid.UUID {
	parts := strings.Split(token, ".")
	id, err := uuid.Parse(parts[0])
	if err != nil || len(parts) < 2 {
		return uuid.Nil
	}
	of := append([]string{purpose, id.String()}, parts[1:len(parts)-1]...)
	if len(of) != map[string]int{"confirm": 3, "leave": 2}[purpose] ||
		!(&Server{Options: Options{Keys: t.Keys}}).verify(parts[len(parts)-1], of...) {
		return uuid.Nil
	}
	if purpose == "confirm" {
		if seconds, err := strconv.ParseInt(parts[1], 10, 64); err != nil || !now.Before(time.Unix(seconds, 0)) {
			return uuid.Nil
		}
	}
	return id
}

// serveToken answers the links of messages: a page with a button, since mail scanners open links, and what
// the button does. The link to unsubscribe takes the POST of a mail program too (RFC 8058).
func (s *Server) serveToken(w http.ResponseWriter, r *http.Request, action string) {
	purpose := map[string]string{"confirm": "confirm", "unsubscribe": "leave"}[action]
	if purpose == "" || s.Readers == nil || len(s.Keys) == 0 {
		s.fail(w, r, vigil.NotFound("status page"))
		return
	}
	token := r.URL.Query().Get("token")
	id := Tokens{s.Keys}.read(purpose, token, s.Now())
	if id == uuid.Nil {
		s.say(w, r, http.StatusNotFound, message{
			Title: "This link does not work", Detail: "It is too old, or not whole. You can subscribe again on the status page.",
		})
		return
	}
	reader, title, err := s.Readers.Store.StatusReader(r.Context(), id)
	switch {
	case vigil.ErrorCode(err) == vigil.CodeNotFound:
		s.say(w, r, http.StatusOK, message{Title: "You are not subscribed", Detail: "You get no messages, and your address is not stored here."})
		return
	case err != nil:
		s.fail(w, r, err)
		return
	}
	button := &form{Action: "/status/-/" + action + "?token=" + token}
	switch {
	case purpose == "leave" && r.Method == http.MethodPost:
		err, title = s.Readers.Store.RemoveReader(r.Context(), id), "You are unsubscribed"
		s.done(w, r, err, message{Title: title, Detail: "You get no more messages, and your address is deleted."})
	case purpose == "leave":
		button.Button = "Unsubscribe"
		s.say(w, r, http.StatusOK, message{
			Title: "Unsubscribe from " + title, Detail: "You get no more messages of this status page, and your address is deleted.", Form: button,
		})
	case reader.ConfirmedAt != nil:
		s.say(w, r, http.StatusOK, message{Title: "You are subscribed", Detail: "You get the messages of " + title + "."})
	case r.Method == http.MethodPost:
		s.done(w, r, s.Readers.Store.ConfirmReader(r.Context(), id), message{
			Title: "You are subscribed", Detail: "You get the messages of " + title + ". Each has a link to unsubscribe.",
		})
	default:
		button.Button = "Confirm"
		s.say(w, r, http.StatusOK, message{
			Title:  "Subscribe to " + title,
			Detail: "Confirm that you want to be notified what happens. Each message has a link to unsubscribe.",
			Form:   button,
		})
	}
}

func (s *Server) done(w http.ResponseWriter, r *http.Request, err error, says message) {
	switch vigil.ErrorCode(err) {
	case "":
		s.say(w, r, http.StatusOK, says)
	case vigil.CodePlanLimit:
		s.say(w, r, http.StatusForbidden, message{Title: "There is no room", Detail: "This page takes no more subscribers."})
	default:
		s.fail(w, r, err)
	}
}
