// SPDX-License-Identifier: Apache-2.0

package notify_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"reflect"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil/internal/notify"
	"github.com/vigil-monitor/vigil/internal/secret"
)

func conformRepeated(t *testing.T, kind form) {
	t.Helper()
	t.Run("TheBodyIsTheSameOnEveryAttempt", func(t *testing.T) {
		t.Parallel()
		r := receive(t, answer(http.StatusInternalServerError))
		sender := parse(t, registry(), kind.kind(), httpConfigs(r.url)[kind])
		for attempt := range 12 {
			m := message()
			m.Attempt = attempt + 1
			sender.Send(t.Context(), m)
		}
		got := r.requests()
		if len(got) != 12 {
			t.Fatalf("%d requests", len(got))
		}
		for _, one := range got[1:] {
			if !bytes.Equal(one.body, got[0].body) || one.method != got[0].method || one.path != got[0].path {
				t.Errorf("%s differs from %s", one.body, got[0].body)
			}
		}
	})
}

// secretNames are the words in a member's name that demand the tag secret.
var secretNames = regexp.MustCompile(`password|token|key|secret`)

func encoded(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

// secretsOf lists the secrets of a type's config that are whole members.
func secretsOf(kind form) []string {
	var found []string
	for _, field := range reflect.VisibleFields(reflect.TypeOf(registry().Config(kind.kind()))) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if text, ok := httpConfigs("http://hooks.example.com")[kind][name].(string); ok && field.Tag.Get("secret") == "true" {
			found = append(found, text)
		}
	}
	return found
}

func TestSecretMembers(t *testing.T) {
	t.Parallel()
	r := registry()
	if got := notify.Secrets(); len(got) != len(r.Types()) {
		t.Errorf("%d of %d types", len(got), len(r.Types()))
	}
	ring, err := secret.NewKeyring(bytes.Repeat([]byte{1}, 32))
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range r.Types() {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			fields, secrets, spellings, config := r.Secrets(kind), 0, 0, make(map[string]any)
			for _, field := range reflect.VisibleFields(reflect.TypeOf(r.Config(kind))) {
				name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
				switch tag := field.Tag.Get("secret"); {
				case tag == "true":
					config[name] = secretText
					secrets++
				case tag == "address":
					config[name] = "https://hooks.example/" + secretText
					secrets++
				case tag == "query":
					config[name] = "https://hooks.example/?a=b&token=" + url.QueryEscape(secretText)
					secrets++
					spellings++ // as it is written, and decoded
				case tag == "by-name":
					config[name] = map[string]string{"X-Auth-Token": secretText, "Accept": "*/*"}
					secrets++
				case secretNames.MatchString(name) || field.Type.Kind() == reflect.Map:
					t.Errorf("%s needs the tag secret", name)
				}
			}
			raw := encode(t, config)
			sealed, err := ring.SealSecrets(fields, raw)
			masked := fields.Mask(raw)
			if err != nil || strings.Contains(string(sealed)+string(masked), "s3cr3t") || strings.Count(string(masked), `***`) != secrets {
				t.Errorf("%d secrets, sealed as %s, masked as %s (%v)", secrets, sealed, masked, err)
			}
			kept, err := fields.Keep(masked, raw)
			if err != nil || len(fields.Values(kept)) != secrets+spellings || strings.Contains(string(kept), secret.Mask) {
				t.Errorf("the mask keeps %s, %v", kept, err)
			}
		})
	}
}

// conformSecrets lets a receiver repeat everything that it gets.
func conformSecrets(t *testing.T, kind form) {
	t.Helper()
	echo := func(w http.ResponseWriter, r *http.Request) {
		header, _ := json.Marshal(r.Header)
		w.WriteHeader(http.StatusBadGateway)
		fmt.Fprintf(w, "%s %s\n%v\n%s\n", r.RequestURI, r.URL.Path, r.Header, header)
		user, password, _ := r.BasicAuth()
		fmt.Fprintf(w, "%s %s %q %s\n", user, password, password, url.QueryEscape(r.Header.Get("Authorization")))
		for _, values := range httpConfigs("http://hooks.example.com")[kind] {
			fmt.Fprintln(w, values)
		}
		for _, secret := range secretsOf(kind) {
			fmt.Fprintln(w, url.PathEscape(secret), strings.ToLower(url.QueryEscape(secret)), encoded(secret), encoded("ada:"+secret),
				encoded("x"+secret+"yz"))
		}
	}
	shown := func(o notify.Outcome, sender notify.Sender) string {
		return strings.Join([]string{o.Error, o.ErrorCode, o.ResponseBody, sender.Target(), fmt.Sprintf("%+v", o)}, "\n")
	}
	t.Run("NoSecretIsShown", func(t *testing.T) {
		t.Parallel()
		r := receive(t, echo)
		sender := parse(t, registry(), kind.kind(), httpConfigs(r.url)[kind])
		answered := shown(sender.Send(t.Context(), message()), sender)
		if !strings.Contains(answered, secret.Mask) {
			t.Errorf("the receiver repeated nothing: %s", answered)
		}
		for _, base := range []string{"http://127.0.0.1:1", "http://nowhere.invalid", strings.Replace(r.url, "http:", "https:", 1)} {
			sender := parse(t, registry(notify.WithTimeout(2*time.Second)), kind.kind(), httpConfigs(base)[kind])
			answered += shown(sender.Send(t.Context(), message()), sender)
		}
		if strings.Contains(answered, "s3cr3t") {
			t.Errorf("a secret is shown: %s", answered)
		}
		for _, secret := range secretsOf(kind) {
			for _, spelling := range []string{url.QueryEscape(secret), url.PathEscape(secret), encoded(secret)} {
				if strings.Contains(answered, spelling) {
					t.Errorf("%s is shown: %s", spelling, answered)
				}
			}
		}
		var log bytes.Buffer
		slog.New(slog.NewJSONHandler(&log, nil)).Error("attempt", "outcome", answered)
		if strings.Contains(log.String(), "s3cr3t") {
			t.Errorf("a secret is logged: %s", log.String())
		}
	})
	t.Run("NotEvenOneAcrossTheEndOfWhatIsKept", func(t *testing.T) {
		t.Parallel()
		text := pathToken
		if secrets := secretsOf(kind); len(secrets) > 0 {
			text = secrets[0]
		}
		step := 1
		if testing.Short() || kind != form(kind.kind()) {
			step = 8
		}
		var dots atomic.Int64 // before the secret
		r := receive(t, func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(strings.Repeat(".", int(dots.Load())) + text + strings.Repeat(".", 100)))
		})
		sender := parse(t, registry(), kind.kind(), httpConfigs(r.url)[kind])
		for _, border := range []int{4 << 10, 64 << 10} {
			for back := 0; back <= len(text); back += step {
				dots.Store(int64(border - back))
				if got := sender.Send(t.Context(), message()); strings.ContainsAny(strings.ReplaceAll(got.ResponseBody, secret.Mask, ""),
					"s3crt") {
					t.Fatalf("border %d-%d: %q", border, back, got.ResponseBody[max(0, len(got.ResponseBody)-40):])
				}
			}
		}
	})
}
