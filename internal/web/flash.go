// SPDX-License-Identifier: Apache-2.0

package web

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
)

// flash is a message that the next page shows once.
type flash struct {
	Mark string // of a state, such as up or down
	Text string
	// Link is one thing to do about it, such as Undo; empty for none. With Post it is a
	// form that posts to the path with the fields.
	Link, LinkText string
	Post           bool                `json:",omitempty"`
	Fields         map[string][]string `json:",omitempty"`
	Until          int64               // Unix seconds
}

// warn adds what the API warns of, each once.
func (f flash) warn(of ...*[]string) flash {
	var added []string
	for _, warnings := range of {
		if warnings == nil {
			continue
		}
		for _, warning := range *warnings {
			if !slices.Contains(added, warning) {
				added = append(added, warning)
			}
		}
	}
	if len(added) > 0 {
		f.Mark, f.Text = "warn", f.Text+". "+strings.Join(added, " ")
	}
	return f
}

const (
	flashCookie = "vigil_flash"
	// flashAge is for how many seconds a message waits for its page.
	flashAge = 60
)

// flash has the next page show a message. Only the session that it is for can show it: it
// may be a form, and no other host may put one into the pages of a user.
func (r *request) flash(f flash) {
	f.Until = r.now.Unix() + flashAge
	text, err := json.Marshal(f)
	if err != nil || len(text) > 2500 { // more than a cookie holds
		f.Link, f.LinkText, f.Fields = "", "", nil
		text, _ = json.Marshal(f)
	}
	r.setFlash(r.s.signatures.sign("flash", r.s.sessions.id(r.Context()), base64.RawURLEncoding.EncodeToString(text)), flashAge)
}

func (r *request) setFlash(value string, age int) {
	http.SetCookie(r.w, &http.Cookie{ //nolint:gosec // Secure where browsers use TLS
		Name:     flashCookie,
		Value:    value,
		Path:     "/app",
		MaxAge:   age,
		HttpOnly: true,
		Secure:   r.s.deps.Config.secure(),
		SameSite: http.SameSiteLaxMode,
	})
}

// takeFlash returns the message for this page, nil without one.
func (r *request) takeFlash() *flash {
	cookie, err := r.Cookie(flashCookie)
	if err != nil {
		return nil
	}
	r.setFlash("", -1)
	signed, ok := r.s.signatures.open("flash", r.s.sessions.id(r.Context()), cookie.Value)
	if !ok {
		return nil
	}
	text, err := base64.RawURLEncoding.DecodeString(signed)
	if err != nil {
		return nil
	}
	var f flash
	if json.Unmarshal(text, &f) != nil || f.Text == "" || f.Until < r.now.Unix() {
		return nil
	}
	f.Link = ownPath(f.Link)
	return &f
}
