// SPDX-License-Identifier: Apache-2.0

package statuspage

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/overview"
)

// hookMessage is the body of a message to a webhook.
type hookMessage struct {
	ID        string    `json:"id"`
	Type      string    `json:"type"` // status_page. and the kind of the note
	Timestamp time.Time `json:"timestamp"`
	Data      hookData  `json:"data"`
}

type hookData struct {
	Page  string `json:"page"`
	URL   string `json:"url"`
	Title string `json:"title,omitempty"`
	Text  string `json:"text,omitempty"`
	// Unsubscribe ends the messages on a POST.
	Unsubscribe string `json:"unsubscribe_url,omitempty"`
	// Challenge is in a question: the answer must have it. Secret signs this message and all that follow.
	Challenge string `json:"challenge,omitempty"`
	Secret    string `json:"secret,omitempty"`
}

// letter words a message, and returns the challenge that a webhook must answer with; empty: none.
func (t *Teller) letter(m *overview.ReaderMessage) (Letter, string, error) {
	page := t.PublicURL + "/status/" + m.Slug
	if m.Host != "" {
		scheme, _, _ := strings.Cut(t.PublicURL, "://")
		page = scheme + "://" + m.Host + "/"
	}
	leave := t.PublicURL + "/status/-/unsubscribe?token=" + t.Tokens.Leave(m.Reader.ID)
	letter := Letter{ID: m.NoteID, To: m.Reader, Leave: leave, Event: "status_page." + m.Note.Kind}
	body := hookMessage{
		ID: m.NoteID.String(), Type: letter.Event, Timestamp: m.Note.At.UTC(),
		Data: hookData{Page: m.PageTitle, URL: page, Title: m.Note.Title, Text: m.Note.Body, Unsubscribe: leave},
	}
	title := vigil.WithoutLinks(m.PageTitle)
	challenge := ""
	if m.Note.Kind == overview.NoteConfirm {
		until := m.Note.At.Add(overview.ReaderAsked)
		token := t.Tokens.Confirm(m.Reader.ID, until)
		challenge = token
		body.Data.Challenge, body.Data.Secret, body.Data.Unsubscribe = challenge, m.Reader.Secret, ""
		letter.Leave = ""
		letter.Button = "Confirm"
		letter.Subject = "Confirm that you want the messages of " + title
		letter.Text = "Somebody, probably you, asked to get a mail when something happens to " + title + ".\n\n" +
			"Open this page and press its button to get them:\n\n" + t.PublicURL + "/status/-/confirm?token=" + token + "\n\n" +
			"If it was not you, do nothing: you get no other mail, and your address is deleted within two days.\n"
	} else {
		letter.Button = "Open the status page"
		letter.Subject = title + ": " + vigil.WithoutLinks(m.Note.Title)
		letter.Text = vigil.WithoutLinks(
			m.Note.Title,
		) + "\n\n" + m.Note.Body + "\n\n" + page + "\n\n-- \nYou get this because you subscribed to " +
			title + ".\nTo unsubscribe, open " + leave + "\n"
	}
	if m.Reader.Kind != overview.ReaderWebhook {
		return letter, "", nil
	}
	var err error
	if letter.Body, err = json.Marshal(body); err != nil {
		return letter, "", fmt.Errorf("write a message to a webhook: %w", err)
	}
	return letter, challenge, nil
}

// answers reports whether an answer of a webhook has the challenge: as its whole text, or as the member
// challenge of JSON.
func answers(answer, challenge string) bool {
	if strings.TrimSpace(answer) == challenge {
		return true
	}
	var body struct {
		Challenge string `json:"challenge"`
	}
	return json.Unmarshal([]byte(answer), &body) == nil && body.Challenge == challenge
}
