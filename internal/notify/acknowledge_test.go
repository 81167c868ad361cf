// SPDX-License-Identifier: Apache-2.0

package notify_test

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/notify"
)

func tokenOf(t *testing.T, address string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return u.Query().Get("token")
}

func TestAcknowledgeLinks(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 11, 58, 0, 0, time.UTC)
	old, young := []byte("the older key"), []byte("the younger key")
	of := notify.Acknowledgement{Incident: uuid.New(), Channel: uuid.New(), Who: "ada@example.com", Until: now.Add(notify.AcknowledgeLifetime)}
	made := notify.NewAcknowledgeLinks("https://vigil.example.com", old).URL(of)
	if !strings.HasPrefix(made, "https://vigil.example.com/acknowledge?token=") {
		t.Fatal(made)
	}
	token := tokenOf(t, made)
	rotated := notify.NewAcknowledgeLinks("", young, old)
	if got, err := rotated.Read(token, of.Until.Add(-time.Second)); err != nil || got != of {
		t.Errorf("%+v, %v", got, err)
	}
	for name, test := range map[string]struct {
		links notify.AcknowledgeLinks
		token string
		now   time.Time
	}{
		"TooOld":   {rotated, token, of.Until},
		"OtherKey": {notify.NewAcknowledgeLinks("", young), token, now},
		"Changed":  {rotated, otherFirst(token), now},
		"Cut":      {rotated, token[:len(token)-1], now},
		"NoMAC":    {rotated, strings.Split(token, ".")[0], now},
		"Empty":    {rotated, "", now},
		"Dot":      {rotated, ".", now},
		"NoKeys":   {notify.AcknowledgeLinks{}, token, now},
	} {
		if got, err := test.links.Read(test.token, test.now); vigil.ErrorCode(err) != vigil.CodeInvalid || got != (notify.Acknowledgement{}) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	for name, links := range map[string]notify.AcknowledgeLinks{
		"NoKeys": notify.NewAcknowledgeLinks("https://vigil.example.com"), "NoURL": notify.NewAcknowledgeLinks("", old),
	} {
		if got := links.URL(of); got != "" {
			t.Errorf("%s: %s", name, got)
		}
	}
	long := of
	long.Who = strings.Repeat("x", 10_000)
	if got := made[:20]; len(notify.NewAcknowledgeLinks(got, old).URL(long)) > 600 {
		t.Error("a long name makes a long link")
	}
}

// otherFirst returns a token with another first character. Tokens are random.
func otherFirst(token string) string {
	if token[0] == 'B' {
		return "C" + token[1:]
	}
	return "B" + token[1:]
}

// A link of an incident does not become one of another by shifting bytes between its parts.
func FuzzAcknowledgeLinks(f *testing.F) {
	links := notify.NewAcknowledgeLinks("https://vigil.example.com", []byte("key"))
	f.Add("a.b")
	f.Fuzz(func(t *testing.T, token string) {
		if got, err := links.Read(token, time.Unix(0, 0)); err == nil {
			t.Errorf("%q is a link to %s", token, got.Incident)
		}
	})
}
