package e2e_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"
)

// sinkSecret signs what the sink receives.
const sinkSecret = "a secret that only the sink and the channel know"

// post is one request that the sink received.
type post struct {
	id       string // of the event: the same on every attempt
	kind     string
	incident string
	body     [sha256.Size]byte
	signed   bool
	accepted bool // answered with 2xx
}

// sink is a webhook receiver that writes everything down, and that fails at
// random as receivers do.
type sink struct {
	*httptest.Server
	mu      sync.Mutex
	posts   []post
	failing int // percent of requests that are not accepted
}

func newSink(t *testing.T, failing int) *sink {
	t.Helper()
	s := &sink{failing: failing}
	s.Server = httptest.NewServer(http.HandlerFunc(s.receive))
	t.Cleanup(s.Close)
	return s
}

func (s *sink) receive(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
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
	_ = json.Unmarshal(body, &envelope) // what is none shows in the count
	p := post{id: envelope.ID, kind: envelope.Type, incident: envelope.Data.Incident.ID, body: sha256.Sum256(body), signed: signedBy(r, body)}
	p.accepted = rand.IntN(100) >= s.failing
	s.mu.Lock()
	s.posts = append(s.posts, p)
	s.mu.Unlock()
	if p.accepted {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	switch rand.IntN(8) {
	case 0: // hang, until the sender gives up
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

// signedBy verifies X-Service-Signature by the rule of the interface, not by
// the code that signs.
func signedBy(r *http.Request, body []byte) bool {
	mac := hmac.New(sha256.New, []byte(sinkSecret))
	mac.Write(body)
	return r.Header.Get("X-Service-Signature") == "sha256="+hex.EncodeToString(mac.Sum(nil))
}

// account is what the posts of a run amount to.
type account struct {
	opened, resolved     int // incidents whose event was accepted
	repeated, outOfOrder int
	unsigned, changed    int // bodies without their signature; other bodies under the same id
}

// tally goes through the posts in the order of their arrival.
func (s *sink) tally() account {
	s.mu.Lock()
	defer s.mu.Unlock()
	var a account
	bodies := map[string][sha256.Size]byte{}
	accepted := map[string]bool{}        // events
	told := map[string]map[string]bool{} // kinds by incident
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
		if told[p.incident] == nil {
			told[p.incident] = map[string]bool{}
		}
		if p.kind == "incident.resolved" {
			a.resolved++
			if !told[p.incident]["incident.triggered"] {
				a.outOfOrder++
			}
		} else {
			a.opened++
			if told[p.incident]["incident.resolved"] {
				a.outOfOrder++
			}
		}
		told[p.incident][p.kind] = true
	}
	return a
}

// flaky is a service whose paths are broken and mended one by one.
type flaky struct {
	*httptest.Server
	broken sync.Map // path: since when
}

func newFlaky(t *testing.T) *flaky {
	t.Helper()
	f := &flaky{}
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, broken := f.broken.Load(r.URL.Path); broken {
			w.WriteHeader(http.StatusInternalServerError)
		}
	}))
	t.Cleanup(f.Close)
	return f
}

func (f *flaky) breakDown(path string) { f.broken.Store(path, time.Now()) }
func (f *flaky) mend(path string)      { f.broken.Delete(path) }
