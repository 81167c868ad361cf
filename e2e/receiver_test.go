// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// receiverSecret signs the requests to a receiver.
const receiverSecret = "a secret shared by the receiver and the channel"

// post is one request to the receiver.
type post struct {
	id       string // of the event; the same for every attempt
	header   string // webhook-id
	kind     string
	incident string
	body     [sha256.Size]byte
	signed   bool
	accepted bool // answered with 2xx
}

// receiver is a webhook receiver that records all requests and fails some of
// them at random, in the ways real receivers do.
type receiver struct {
	*httptest.Server
	mu      sync.Mutex
	posts   []post
	failing int // percentage of requests that it does not accept
}

func newReceiver(t *testing.T, failing int) *receiver {
	t.Helper()
	s := &receiver{failing: failing}
	s.Server = httptest.NewServer(http.HandlerFunc(s.receive))
	t.Cleanup(s.Close)
	return s
}

func (s *receiver) receive(w http.ResponseWriter, r *http.Request) {
	p, err := readPost(r)
	if err != nil {
		return
	}
	s.mu.Lock()
	p.accepted = rand.IntN(100) >= s.failing
	s.mu.Unlock()
	s.keep(p)
	if p.accepted {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	switch rand.IntN(8) {
	case 0: // hang until the sender times out
		<-r.Context().Done()
	case 1, 2: // reset
		panic(http.ErrAbortHandler)
	case 3:
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(http.StatusTooManyRequests)
	default:
		w.WriteHeader(http.StatusInternalServerError)
	}
}

func (s *receiver) keep(p post) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.posts = append(s.posts, p)
}

// readPost reads a request that is not accepted yet.
func readPost(r *http.Request) (post, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return post{}, err
	}
	var envelope struct {
		ID   string `json:"id"`
		Type string `json:"type"`
		Data struct {
			Incident struct {
				ID string `json:"id"`
			} `json:"incident"`
		} `json:"data"`
	}
	_ = json.Unmarshal(body, &envelope) // an invalid body shows up in the summary
	return post{
		id: envelope.ID, header: r.Header.Get("Webhook-Id"), kind: envelope.Type, incident: envelope.Data.Incident.ID,
		body: sha256.Sum256(body), signed: signedBy(r, body),
	}, nil
}

// setFailing changes the percentage of requests that it does not accept.
func (s *receiver) setFailing(percentage int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failing = percentage
}

// signedBy verifies X-Service-Signature by its specification, independently of
// the code under test.
func signedBy(r *http.Request, body []byte) bool {
	mac := hmac.New(sha256.New, []byte(receiverSecret))
	mac.Write(body)
	return r.Header.Get("X-Service-Signature") == "sha256="+hex.EncodeToString(mac.Sum(nil))
}

// receiverSummary counts the posts of a run.
type receiverSummary struct {
	opened, resolved     int // incidents with an accepted event of that kind
	repeated, outOfOrder int
	unsigned, changed    int // without a valid signature; with a body that differs from an earlier attempt
}

// summarize goes through the posts in order of arrival.
func (s *receiver) summarize() receiverSummary {
	s.mu.Lock()
	defer s.mu.Unlock()
	var a receiverSummary
	bodies := map[string][sha256.Size]byte{}
	accepted := map[string]bool{}         // events
	kinds := map[string]map[string]bool{} // accepted kinds by incident
	for _, p := range s.posts {
		if !p.signed {
			a.unsigned++
		}
		if body, seen := bodies[p.id]; seen && body != p.body {
			a.changed++
		}
		bodies[p.id] = p.body
		if !p.accepted {
			continue
		}
		if accepted[p.id] {
			a.repeated++
			continue
		}
		accepted[p.id] = true
		if kinds[p.incident] == nil {
			kinds[p.incident] = map[string]bool{}
		}
		if p.kind == "incident.resolved" {
			a.resolved++
			if !kinds[p.incident]["incident.triggered"] {
				a.outOfOrder++
			}
		} else {
			a.opened++
			if kinds[p.incident]["incident.resolved"] {
				a.outOfOrder++
			}
		}
		kinds[p.incident][p.kind] = true
	}
	return a
}

// service is an HTTP target whose paths can fail one by one.
type service struct {
	*httptest.Server
	broken sync.Map // paths that fail
	asked  sync.Map // number of requests, by path
}

func newService(t *testing.T) *service {
	t.Helper()
	f := &service{}
	f.Server = httptest.NewServer(f)
	t.Cleanup(f.Close)
	return f
}

// newServiceOn is newService on a listener.
func newServiceOn(t *testing.T, listener net.Listener) *service {
	t.Helper()
	f := &service{}
	f.Server = httptest.NewUnstartedServer(f)
	_ = f.Listener.Close()
	f.Listener = listener
	f.Start()
	t.Cleanup(f.Close)
	return f
}

func (f *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	asked, _ := f.asked.LoadOrStore(r.URL.Path, new(atomic.Int64))
	asked.(*atomic.Int64).Add(1)
	if _, broken := f.broken.Load(r.URL.Path); broken {
		w.WriteHeader(http.StatusInternalServerError)
	}
}

func (f *service) fail(path string)   { f.broken.Store(path, time.Now()) }
func (f *service) repair(path string) { f.broken.Delete(path) }

// hits returns how many requests a path had.
func (f *service) hits(path string) int64 {
	asked, ok := f.asked.Load(path)
	if !ok {
		return 0
	}
	return asked.(*atomic.Int64).Load()
}
