// SPDX-License-Identifier: Apache-2.0

package web

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"
)

// signatures sign what browsers keep for the dashboard, so that it takes back only what it
// gave: other hosts of the same domain can set cookies, too.
type signatures struct{ key []byte }

// newSignatures signs with a key. Without one it makes its own, which no other process knows.
func newSignatures(key []byte) signatures {
	if len(key) == 0 {
		key = make([]byte, sha256.Size)
		_, _ = rand.Read(key) // never fails, by its contract
	}
	return signatures{key: key}
}

func (s signatures) sum(purpose, holder, text string) string {
	mac := hmac.New(sha256.New, s.key)
	mac.Write([]byte(purpose + "\x00" + holder + "\x00" + text))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// sign returns a text, without dots, with its signature. It is good for the purpose and the
// holder alone.
func (s signatures) sign(purpose, holder, text string) string {
	return text + "." + s.sum(purpose, holder, text)
}

// open returns a signed text; ok is false when the signature is not that of the purpose and
// the holder.
func (s signatures) open(purpose, holder, signed string) (text string, ok bool) {
	text, sum, _ := strings.Cut(signed, ".")
	return text, hmac.Equal([]byte(sum), []byte(s.sum(purpose, holder, text)))
}

const (
	browserCookie = "vigil_browser"
	browserAge    = 365 * 24 * time.Hour
)

// knownBrowser returns the id of a browser in which a user has signed in before.
func (r *request) knownBrowser() (userID uuid.UUID, browser string, ok bool) {
	cookie, err := r.Cookie(browserCookie)
	if err != nil {
		return uuid.Nil, "", false
	}
	text, ok := r.s.signatures.open("browser", "", cookie.Value)
	user, browser, _ := strings.Cut(text, "_")
	userID, err = uuid.Parse(user)
	return userID, browser, ok && err == nil && browser != ""
}

// keepBrowser has the browser known as one in which the user has signed in.
func (r *request) keepBrowser(userID uuid.UUID) {
	known, browser, ok := r.knownBrowser()
	if !ok || known != userID {
		browser = uuid.NewString()
	}
	http.SetCookie(r.w, &http.Cookie{ //nolint:gosec // Secure where browsers use TLS
		Name: browserCookie, Value: r.s.signatures.sign("browser", "", userID.String()+"_"+browser), Path: "/app/sign-in",
		MaxAge: int(browserAge.Seconds()), HttpOnly: true, Secure: r.s.deps.Config.secure(), SameSite: http.SameSiteLaxMode,
	})
}
