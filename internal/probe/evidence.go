// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"net/url"
	"reflect"
	"slices"
	"sync"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/egress"
	"github.com/vigil-monitor/vigil/internal/redact"
)

// Bounds of evidence.
const (
	maxEvidenceBody    = 2 << 10 // bytes of a body that are kept
	readEvidenceBody   = 2 * maxEvidenceBody
	maxEvidenceHeaders = 40
	maxEvidenceText    = 300 // bytes of a value
	maxEvidenceLines   = 20  // of a dialog
	maxEvidenceChain   = 4
	maxEvidenceNames   = 20 // of a certificate
	maxEvidenceList    = 12 // lookups, attempts and redirects
)

type evidenceKey struct{}

// evidenceWish is what the context of a probe says about evidence.
type evidenceWish struct {
	// keep reports whether a failure keeps its evidence; nil: always.
	keep func(vigil.Observation) bool
	// hidden are secrets besides those of the config, and extract are values of the answer that
	// are secrets, too.
	hidden  *redact.Redactor
	extract []extraction
}

// KeepEvidence makes probes under the context collect evidence. A failed observation has it
// when keep, which is called with everything else of the observation, returns true. Without
// it nothing is collected.
func KeepEvidence(ctx context.Context, keep func(vigil.Observation) bool) context.Context {
	return context.WithValue(ctx, evidenceKey{}, &evidenceWish{keep: keep})
}

// forStep returns the context of a step of a probe: it keeps the evidence of every failure,
// since the whole probe decides, and hides what the steps before extracted.
func forStep(ctx context.Context, hidden *redact.Redactor, extract []extraction) context.Context {
	if wishOf(ctx) == nil {
		return ctx
	}
	return context.WithValue(ctx, evidenceKey{}, &evidenceWish{hidden: hidden, extract: extract})
}

func wishOf(ctx context.Context) *evidenceWish {
	wish, _ := ctx.Value(evidenceKey{}).(*evidenceWish)
	return wish
}

// recorder collects what an exchange sees. Nil collects nothing. It only notes: the evidence
// is made of it when the exchange has failed.
type recorder struct {
	*evidenceWish

	guard *egress.Guard

	mu        sync.Mutex
	lookups   []vigil.EvidenceLookup
	attempts  []attempt
	redirects []vigil.EvidenceRedirect
	address   string
	chain     []*x509.Certificate
	chainErr  string
	response  *http.Response
	body      []byte // the beginning
	bytes     int64
	whole     bool // body is all of it
	hasBody   bool
	got       *answer
	dialog    []string
	packets   []string
}

type attempt struct {
	address string
	err     error
}

func newRecorder(ctx context.Context, guard *egress.Guard) *recorder {
	wish := wishOf(ctx)
	if wish == nil {
		return nil
	}
	return &recorder{evidenceWish: wish, guard: guard}
}

// note runs a change under the lock, unless nothing is collected.
func (w *recorder) note(change func()) {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	change()
}

// watch makes the hooks of a timeline note names, addresses and certificates as well. The standard library would join
// two sets of hooks by reflection, at each call.
func (w *recorder) watch(hooks *httptrace.ClientTrace) {
	if w == nil {
		return
	}
	var name string // looked up; the dialer looks up one at a time
	began, ready := hooks.DNSStart, hooks.GotConn
	hooks.DNSStart = func(info httptrace.DNSStartInfo) {
		w.note(func() { name = info.Host })
		began(info)
	}
	hooks.DNSDone = func(info httptrace.DNSDoneInfo) {
		addrs := make([]netip.Addr, 0, len(info.Addrs))
		for _, one := range info.Addrs {
			if addr, ok := netip.AddrFromSlice(one.IP); ok {
				addrs = append(addrs, addr.Unmap())
			}
		}
		w.note(func() { w.lookup(name, addrs, info.Err) })
	}
	hooks.ConnectDone = func(_, address string, err error) { w.connected(address, err) }
	hooks.GotConn = func(info httptrace.GotConnInfo) {
		if secured, ok := info.Conn.(*tls.Conn); ok {
			w.certificates(secured.ConnectionState().PeerCertificates)
		}
		ready(info)
	}
}

// connected notes an attempt to connect to an address, nil for one that worked.
func (w *recorder) connected(address string, err error) {
	w.note(func() {
		if err == nil {
			w.address = address
		} else if len(w.attempts) < maxEvidenceList {
			w.attempts = append(w.attempts, attempt{address, err})
		}
	})
}

// lookup adds a name that was looked up. Addresses of the inside are left out.
func (w *recorder) lookup(name string, addrs []netip.Addr, err error) {
	if len(w.lookups) >= maxEvidenceList {
		return
	}
	found := vigil.EvidenceLookup{Name: name}
	for _, addr := range addrs[:min(len(addrs), maxEvidenceNames)] {
		if w.guard != nil && !w.guard.Discloses(addr) {
			found.Answers = append(found.Answers, addr.String())
		}
	}
	if err != nil {
		found.Error = "the lookup failed"
		if failed, ok := errors.AsType[*net.DNSError](err); ok && failed.IsNotFound {
			found.Error = "no such host"
		} else if ok && failed.IsTimeout {
			found.Error = "the name server did not answer"
		}
	}
	w.lookups = append(w.lookups, found)
}

// asked adds what a DNS check asked for and got.
func (w *recorder) asked(found vigil.EvidenceLookup) {
	w.note(func() {
		if len(w.lookups) < maxEvidenceList {
			w.lookups = append(w.lookups, found)
		}
	})
}

// certificates notes the chain of the newest connection.
func (w *recorder) certificates(chain []*x509.Certificate) {
	w.note(func() { w.chain = chain })
}

// answered notes an answer and the beginning of its body. Whole: that is all of the body, of
// which so many bytes were read.
func (w *recorder) answered(response *http.Response, body []byte, bytes int64, whole bool) {
	w.note(func() { w.response, w.body, w.bytes, w.whole, w.hasBody = response, body, bytes, whole, true })
}

// status notes an answer whose body is not read.
func (w *recorder) status(response *http.Response) {
	w.note(func() { w.response = response })
}

// readFirst reads the beginning of a body, of which the answer says its length or -1. It reads
// nothing when nothing is collected.
func (w *recorder) readFirst(body io.Reader, length int64) ([]byte, error) {
	if w == nil || length == 0 {
		return nil, nil
	}
	size := int64(readEvidenceBody)
	if length > 0 {
		size = min(size, length)
	}
	first, n := make([]byte, size), 0
	for n < len(first) { // io.ReadFull hides that a body is shorter than the answer says
		got, err := body.Read(first[n:])
		n += got
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return first[:n], err
		}
	}
	return first[:n], nil
}

// received notes what a server sent that does not speak HTTP.
func (w *recorder) received(body []byte, whole bool) {
	if len(body) > 0 {
		w.answered(nil, slices.Clone(body[:min(len(body), readEvidenceBody)]), int64(len(body)), whole && len(body) <= readEvidenceBody)
	}
}

// line notes a line of a mail server.
func (w *recorder) line(text string) {
	w.note(func() {
		if n := len(w.dialog); n > 0 && w.dialog[n-1] == text {
			return
		}
		w.dialog = append(w.dialog, text)
		w.dialog = w.dialog[max(0, len(w.dialog)-maxEvidenceLines):]
	})
}

// follow notes the redirects of a client.
func (w *recorder) follow(client *http.Client) {
	if w == nil {
		return
	}
	judge := client.CheckRedirect
	client.CheckRedirect = func(req *http.Request, via []*http.Request) error {
		err := judge(req, via)
		if errors.Is(err, http.ErrUseLastResponse) {
			return err
		}
		w.note(func() {
			step := vigil.EvidenceRedirect{From: plainURL(via[len(via)-1].URL), To: plainURL(req.URL), Failed: err != nil}
			if req.Response != nil {
				step.Status = req.Response.StatusCode
			}
			if w.redirects = append(w.redirects, step); len(w.redirects) > maxEvidenceList {
				w.redirects = slices.Delete(w.redirects, 1, 2)
			}
		})
		return err
	}
}

// plainURL is an address without what may be a credential.
func plainURL(u *url.URL) string {
	plain := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}
	return plain.String()
}

// keep returns the evidence of an observation that is to keep it, nil otherwise.
func (w *recorder) keep(seen vigil.Observation, found outcome, hidden *redact.Redactor) *vigil.Evidence {
	if w == nil || seen.Success || w.evidenceWish.keep != nil && !w.evidenceWish.keep(seen) {
		return nil
	}
	e := found.evidence
	if e == nil {
		e = w.evidence(found.err, hidden)
	}
	if reflect.DeepEqual(*e, vigil.Evidence{}) {
		return nil
	}
	return e
}
