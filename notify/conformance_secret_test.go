package notify_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"vigil"
	"vigil/notify"
)

func conformRepeated(t *testing.T, kind vigil.ChannelType) {
	t.Helper()
	t.Run("TheBodyIsTheSameOnEveryAttempt", func(t *testing.T) {
		t.Parallel()
		r := receive(t, answer(http.StatusInternalServerError))
		sender := parse(t, registry(), kind, httpConfigs(r.url)[kind])
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

// conformSecrets lets a receiver repeat everything that it gets.
func conformSecrets(t *testing.T, kind vigil.ChannelType) {
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
	}
	told := func(o notify.Outcome, sender notify.Sender) string {
		return strings.Join([]string{o.Error, o.ErrorCode, o.ResponseBody, sender.Target(), fmt.Sprintf("%+v", o)}, "\n")
	}
	t.Run("NoSecretIsTold", func(t *testing.T) {
		t.Parallel()
		r := receive(t, echo)
		sender := parse(t, registry(), kind, httpConfigs(r.url)[kind])
		answered := told(sender.Send(t.Context(), message()), sender)
		if !strings.Contains(answered, vigil.SecretMask) {
			t.Errorf("the receiver repeated nothing: %s", answered)
		}
		for _, base := range []string{"http://127.0.0.1:1", "http://nowhere.invalid", strings.Replace(r.url, "http:", "https:", 1)} {
			sender := parse(t, registry(notify.WithTimeout(2*time.Second)), kind, httpConfigs(base)[kind])
			answered += told(sender.Send(t.Context(), message()), sender)
		}
		if strings.Contains(answered, "s3cr3t") {
			t.Errorf("a secret is told: %s", answered)
		}
	})
	t.Run("NotEvenOneAcrossTheEndOfWhatIsKept", func(t *testing.T) {
		t.Parallel()
		secrets := httpConfigs("http://hooks.example.com")[kind]
		text := pathToken
		for _, name := range []string{"secret", "password", "routing_key"} {
			if given, ok := secrets[name].(string); ok {
				text = given
			}
		}
		for _, border := range []int{4 << 10, 64 << 10} {
			for back := range len(text) + 1 {
				r := receive(t, func(w http.ResponseWriter, _ *http.Request) {
					_, _ = w.Write([]byte(strings.Repeat(".", border-back) + text + strings.Repeat(".", 100)))
				})
				sender := parse(t, registry(), kind, httpConfigs(r.url)[kind])
				if got := sender.Send(t.Context(), message()); strings.ContainsAny(strings.ReplaceAll(got.ResponseBody, vigil.SecretMask, ""), "s3crt") {
					t.Fatalf("border %d-%d: %q", border, back, got.ResponseBody[max(0, len(got.ResponseBody)-40):])
				}
			}
		}
	})
}
