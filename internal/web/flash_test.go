// SPDX-License-Identifier: Apache-2.0

package web_test

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// TestFlashIsSigned holds that a page shows only a message that the dashboard itself left for
// the session: another host of the domain can set the cookie, and a message may be a form.
func TestFlashIsSigned(t *testing.T) {
	t.Parallel()
	s := open(t, "")
	victim, _ := s.signUp(t)
	attacker, _ := s.signUp(t)
	victim.get(t, http.StatusOK, "/app/help") // takes the message of the sign-up
	at, err := url.Parse(s.url + "/app")
	if err != nil {
		t.Fatal(err)
	}
	plant := func(value string) string {
		victim.Jar.SetCookies(at, []*http.Cookie{{Name: "vigil_flash", Value: value, Path: "/app"}})
		return victim.get(t, http.StatusOK, "/app/help").text
	}
	form := `{"Text":"You won","Link":"/app/members/x/remove","LinkText":"Claim","Post":true,"Until":99999999999}`
	unsigned := base64.RawURLEncoding.EncodeToString([]byte(form))
	signed := ""
	for _, cookie := range attacker.Jar.Cookies(at) {
		if cookie.Name == "vigil_flash" {
			signed = cookie.Value
		}
	}
	_, sum, ok := strings.Cut(signed, ".")
	if !ok {
		t.Fatalf("the message of the other session is %q", signed)
	}
	for name, value := range map[string]string{
		"unsigned": unsigned, "with an empty signature": unsigned + ".", "with the signature of another": unsigned + "." + sum,
		"of another session": signed,
	} {
		if text := plant(value); strings.Contains(text, `class="toast"`) {
			t.Errorf("a message %s is shown: %s", name, text)
		}
	}
	attacker.get(t, http.StatusOK, "/app/help").shows(t, `class="toast"`)
}
