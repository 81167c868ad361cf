// SPDX-License-Identifier: Apache-2.0

package demo_test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/vigil-monitor/vigil/internal/demo"
)

// kept is what a test reads of the state file.
type kept struct {
	Shop, Receiver, Secret string
	Broken                 bool
	Refuse                 int
	Messages               []struct {
		ID      string
		Attempt int64
		Status  int
		Valid   bool
	}
}

// noAPI answers nothing: these tests are about the shop and the receiver.
type noAPI struct{}

func (noAPI) Do(*http.Request) (*http.Response, error) { return nil, io.ErrUnexpectedEOF }

func open(t *testing.T, file string) *demo.Demo {
	t.Helper()
	opened, err := demo.Open(t.Context(), demo.Options{
		API: noAPI{}, BaseURL: "http://127.0.0.1:1", File: file, Interval: demo.Interval, Regions: demo.Regions(),
		Show: func(demo.Event) {}, Now: time.Now, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	return opened
}

func stateOf(t *testing.T, file string) (s kept) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatal(err)
	}
	return s
}

// post sends a request and returns the status of its answer.
func post(t *testing.T, url string, header map[string]string, body []byte) int {
	t.Helper()
	request, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range header {
		request.Header.Set(name, value)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	return response.StatusCode
}

// signed are the headers of a message as Vigil signs it, by the library of Standard Webhooks.
func signed(t *testing.T, secret string, at time.Time, body []byte) map[string]string {
	t.Helper()
	signer, err := standardwebhooks.NewWebhookRaw([]byte(secret))
	if err != nil {
		t.Fatal(err)
	}
	id := uuid.NewString()
	signature, err := signer.Sign(id, at, body)
	if err != nil {
		t.Fatal(err)
	}
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	return map[string]string{
		"Webhook-Id": id, "Webhook-Timestamp": strconv.FormatInt(at.Unix(), 10), "Webhook-Signature": signature,
		"X-Service-Signature": "sha256=" + hex.EncodeToString(mac.Sum(nil)), "X-Service-Attempt": "3",
	}
}

func TestReceiver(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "demo.json")
	d := open(t, file)
	t.Cleanup(d.Close)
	s := stateOf(t, file)
	hook, body := "http://"+s.Receiver+"/hook", []byte(`{"type": "incident.triggered"}`)

	header := signed(t, s.Secret, time.Now(), body)
	if status := post(t, hook, header, body); status != http.StatusOK {
		t.Errorf("a message of Vigil is answered with %d", status)
	}
	wrong := map[string]func(map[string]string){
		"another secret":          func(h map[string]string) { maps.Copy(h, signed(t, "another", time.Now(), body)) },
		"another body":            func(h map[string]string) { maps.Copy(h, signed(t, s.Secret, time.Now(), []byte("{}"))) },
		"an old time":             func(h map[string]string) { maps.Copy(h, signed(t, s.Secret, time.Now().Add(-6*time.Minute), body)) },
		"another id":              func(h map[string]string) { h["Webhook-Id"] = uuid.NewString() },
		"no X-Service-Signature":  func(h map[string]string) { delete(h, "X-Service-Signature") },
		"no Standard Webhooks":    func(h map[string]string) { delete(h, "Webhook-Signature") },
		"no time":                 func(h map[string]string) { delete(h, "Webhook-Timestamp") },
		"the other one's content": func(h map[string]string) { h["Webhook-Signature"] = h["X-Service-Signature"] },
	}
	for what, change := range wrong {
		header := signed(t, s.Secret, time.Now(), body)
		change(header)
		if status := post(t, hook, header, body); status != http.StatusUnauthorized {
			t.Errorf("a message with %s is answered with %d", what, status)
		}
	}
	got := stateOf(t, file).Messages
	if len(got) != 1+len(wrong) || !got[0].Valid || got[0].ID != header["Webhook-Id"] || got[0].Attempt != 3 || got[1].Valid {
		t.Errorf("the receiver keeps %+v", got)
	}
}

func TestShop(t *testing.T) {
	t.Parallel()

	t.Run("IsCommandedByItsOwnClientsOnly", func(t *testing.T) {
		t.Parallel()
		d := open(t, filepath.Join(t.TempDir(), "demo.json"))
		t.Cleanup(d.Close)
		if status := post(t, d.URL()+"/break", nil, nil); status != http.StatusForbidden {
			t.Errorf("a page in a browser gets %d", status)
		}
		if status := post(t, d.URL()+"/", map[string]string{demo.CommandHeader: "x"}, nil); status != http.StatusMethodNotAllowed {
			t.Errorf("an unknown command gets %d", status)
		}
	})

	t.Run("KeepsItsAddressAndItsSecret", func(t *testing.T) {
		t.Parallel()
		file := filepath.Join(t.TempDir(), "demo.json")
		open(t, file).Close()
		first := stateOf(t, file)
		again := open(t, file)
		t.Cleanup(again.Close)
		second := stateOf(t, file)
		if first.Shop != second.Shop || first.Receiver != second.Receiver || first.Secret != second.Secret || first.Secret == "" {
			t.Errorf("was %+v, is %+v", first, second)
		}
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("the file with the secret has the mode %v, %v", info.Mode(), err)
		}
	})

	t.Run("TakesAnotherAddressWhenItsOwnIsTaken", func(t *testing.T) {
		t.Parallel()
		file := filepath.Join(t.TempDir(), "demo.json")
		first := open(t, file)
		t.Cleanup(first.Close)
		second := open(t, file)
		t.Cleanup(second.Close)
		if first.URL() == second.URL() {
			t.Errorf("both are at %s", first.URL())
		}
	})

	t.Run("BeginsAgainWhenItsFileIsDamaged", func(t *testing.T) {
		t.Parallel()
		file := filepath.Join(t.TempDir(), "demo.json")
		if err := os.WriteFile(file, []byte(`{"shop": "127.0`), 0o600); err != nil {
			t.Fatal(err)
		}
		d := open(t, file)
		t.Cleanup(d.Close)
		if s := stateOf(t, file); s.Secret == "" || s.Shop == "" {
			t.Errorf("the state is %+v", s)
		}
	})
}

func TestLine(t *testing.T) {
	t.Parallel()
	for want, event := range map[string]demo.Event{
		"  +0:08  ......     the shop breaks": {Kind: demo.KindBroken, Seconds: 8.9, Text: "the shop breaks"},
		"  +1:05  INCIDENT   Demo shop is failing                                                 http://u": {
			Kind: demo.KindIncident, Seconds: 65, Text: "Demo shop is failing", URL: "http://u",
		},
		"  +0:00  done       one incident": {Kind: demo.KindDone, Text: "one incident"},
	} {
		if got := event.Line(0); got != want {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	}
}

// On a terminal each event stays one line: the link goes first, then the end of the text.
func TestLineOfATerminal(t *testing.T) {
	t.Parallel()
	event := demo.Event{
		Kind: demo.KindAttempt, Seconds: 13, Text: "triggered, attempt 2: delivered with 200, signature valid, same id as attempt 1",
		URL: "http://127.0.0.1:8233/namespaces/default/workflows/" + strings.Repeat("x", 60),
	}
	whole := "  +0:13  message    " + event.Text
	for width, want := range map[int]string{100: whole, 60: string([]rune(whole)[:59]) + "…"} {
		if got := event.Line(width); got != want || utf8.RuneCountInString(got) > width {
			t.Errorf("at %d: %q, want %q", width, got, want)
		}
	}
	if got := event.Line(400); !strings.HasSuffix(got, event.URL) {
		t.Errorf("a wide terminal gets %q", got)
	}
}
