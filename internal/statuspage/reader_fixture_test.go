// SPDX-License-Identifier: Apache-2.0

package statuspage_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/vigil-monitor/vigil/internal/statuspage"
)

func mailAddress(text string) error {
	if !strings.Contains(text, "@") {
		return errors.New("is not a plain one such as ada@example.com")
	}
	return nil
}

// outbox takes letters, and answers as the test says.
type outbox struct {
	mu      sync.Mutex
	letters []statuspage.Letter
	// then is what comes of a letter; nil: it arrives.
	then func(statuspage.Letter) statuspage.Sent
	// hang says what a letter waits for before it is handed over, and then until an answer comes.
	hang func(statuspage.Letter) (before, after <-chan struct{})
}

// atOnce is a wait for nothing.
func atOnce() <-chan struct{} {
	done := make(chan struct{})
	close(done)
	return done
}

func (o *outbox) send(ctx context.Context, letter statuspage.Letter, begins func() error) statuspage.Sent {
	before, after := atOnce(), atOnce()
	o.mu.Lock()
	if o.hang != nil {
		before, after = o.hang(letter)
	}
	o.mu.Unlock()
	<-before
	if err := begins(); err != nil {
		return statuspage.Sent{Err: err}
	}
	o.mu.Lock()
	o.letters = append(o.letters, letter)
	o.mu.Unlock()
	<-after
	if ctx.Err() != nil {
		return statuspage.Sent{Err: ctx.Err(), Unknown: true}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.then != nil {
		return o.then(letter)
	}
	return statuspage.Sent{}
}

// hangs sets what letters wait for.
func (o *outbox) hangs(hang func(statuspage.Letter) (before, after <-chan struct{})) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.hang = hang
}

// sent is how many letters were handed over since the last take.
func (o *outbox) sent() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.letters)
}

// take returns the letters since the last call.
func (o *outbox) take() []statuspage.Letter {
	o.mu.Lock()
	defer o.mu.Unlock()
	letters := o.letters
	o.letters = nil
	return letters
}

// post sends a form. It does not follow where the answer leads.
func (s *site) post(t *testing.T, path string, form url.Values, headers ...string) answer {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+path, strings.NewReader(form.Encode()))
	ok(t, err)
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.Do(req)
	ok(t, err)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	ok(t, err)
	return answer{status: res.StatusCode, header: res.Header, body: string(body)}
}

// tell does one round of telling.
func (s *site) tell(t *testing.T) []statuspage.Letter {
	t.Helper()
	ok(t, s.teller.Tell(t.Context()))
	return s.outbox.take()
}

// linkIn returns the path of a link in a letter.
func linkIn(t *testing.T, text, action string) string {
	t.Helper()
	_, after, found := strings.Cut(text, "https://vigil.example.com/status/-/"+action)
	if !found {
		t.Fatalf("no link to %s in %q", action, text)
	}
	return "/status/-/" + action + strings.Fields(after)[0]
}
