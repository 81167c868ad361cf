// SPDX-License-Identifier: Apache-2.0

package vigil

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Evidence is what a failed probe saw of its target: what an engineer asks for first.
// All of it is text from outside, with the secrets of the config replaced by SecretMask.
// Members that do not fit the type of the check are absent.
type Evidence struct {
	Step             string                `json:"step,omitempty" doc:"Step of a multistep check that failed; everything else is of this step." example:"log in"`
	StatusLine       string                `json:"status_line,omitempty" doc:"First line of the answer." example:"HTTP/1.1 503 Service Unavailable"`
	Headers          []EvidenceHeader      `json:"headers,omitempty" doc:"Headers of the answer, sorted by name. The value of one whose name says credential, such as Set-Cookie, is ***."`
	Body             *EvidenceContent      `json:"body,omitempty" doc:"Beginning of what the target sent: of the body, or of the answer of a TCP server."`
	DNS              []EvidenceLookup      `json:"dns,omitempty" doc:"Names that were looked up, with the answers."`
	Address          string                `json:"address,omitempty" doc:"Address and port that the probe reached last." example:"203.0.113.7:443"`
	Attempts         []EvidenceAttempt     `json:"attempts,omitempty" doc:"Addresses that the probe could not connect to."`
	Certificates     []EvidenceCertificate `json:"certificates,omitempty" doc:"Certificate chain as the server sent it, its own certificate first; at most 4."`
	CertificateError string                `json:"certificate_error,omitempty" doc:"Why the certificate chain could not be verified."`
	Redirects        []EvidenceRedirect    `json:"redirects,omitempty" doc:"Redirects in their order."`
	Dialog           []string              `json:"dialog,omitempty" doc:"Last lines of a mail server, the newest last; what was sent to it is left out."`
	Packets          []string              `json:"packets,omitempty" doc:"Echo requests of a ping, with what became of each."`
	Truncated        bool                  `json:"truncated,omitempty" doc:"Parts are cut or left out, so that the result stays within its size."`
}

// EvidenceHeader is a header of an answer.
type EvidenceHeader struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// EvidenceContent is the beginning of what a target sent.
type EvidenceContent struct {
	Text        string `json:"text,omitempty" doc:"The first 2 KiB, when it is text. Control characters are replaced."`
	Bytes       int64  `json:"bytes" doc:"How many bytes the probe read; the body may be longer when truncated is true."`
	Truncated   bool   `json:"truncated,omitempty" doc:"The body is longer than text."`
	Binary      bool   `json:"binary,omitempty" doc:"It is not text, so nothing of it is kept."`
	ContentType string `json:"content_type,omitempty" doc:"Type of the body, as the answer says." example:"text/html"`
}

// EvidenceLookup is a name that was looked up.
type EvidenceLookup struct {
	Name    string   `json:"name"`
	Type    string   `json:"type,omitempty" doc:"Type of the records that a DNS check asked for." example:"A"`
	Server  string   `json:"server,omitempty" doc:"Name server that a DNS check asked; system for those of the region."`
	Rcode   string   `json:"rcode,omitempty" doc:"Response code of the answer to a DNS check." example:"NXDOMAIN"`
	Answers []string `json:"answers,omitempty" doc:"Addresses, or values of the records."`
	Error   string   `json:"error,omitempty" doc:"Why there is no answer." example:"no such host"`
}

// EvidenceAttempt is an address that could not be connected to.
type EvidenceAttempt struct {
	Address string `json:"address"`
	Error   string `json:"error"`
}

// EvidenceCertificate is a certificate of a chain.
type EvidenceCertificate struct {
	Subject   string   `json:"subject"`
	Issuer    string   `json:"issuer"`
	SANs      []string `json:"sans,omitempty" doc:"Names and addresses that the certificate is for, at most 20."`
	NotBefore string   `json:"not_before" doc:"First instant of validity, in UTC."`
	NotAfter  string   `json:"not_after" doc:"Last instant of validity, in UTC."`
}

// EvidenceRedirect is an answer that led to another address.
type EvidenceRedirect struct {
	From   string `json:"from" doc:"Address that answered, without its query."`
	Status int    `json:"status"`
	To     string `json:"to" doc:"Address that it led to, without its query."`
	Failed bool   `json:"failed,omitempty" doc:"The redirect was not followed, or the request that it led to failed."`
}

// MaxEvidence is the maximum size of the evidence of a result as JSON, in bytes. It is also
// never larger than what the metadata of the result leaves of MaxMetadata.
const MaxEvidence = 8 << 10

// EncodeEvidence returns evidence as JSON of at most MaxEvidence bytes that fits beside
// metadata of a size in bytes. It leaves out parts until the rest fits, those first that say
// least, and marks that. Nil: there is no evidence, or no space for any.
func EncodeEvidence(e *Evidence, metadata int) []byte {
	if e == nil {
		return nil
	}
	limit := min(MaxEvidence, MaxMetadata-metadata)
	rest := *e
	for _, shorten := range evidenceCuts() {
		text := rest.json()
		if size := len(text) + separatorsIn(text); size <= limit {
			return text
		}
		rest.Truncated = true
		shorten(&rest)
	}
	return nil
}

// json encodes evidence without escapes for HTML, which would triple the size of a page.
func (e *Evidence) json() []byte {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(e); err != nil {
		return nil // it has only texts, numbers and booleans: this does not happen
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
}

// BoundEvidence returns evidence as it is stored beside metadata; see EncodeEvidence.
func BoundEvidence(e *Evidence, metadata map[string]any) *Evidence {
	if e == nil {
		return nil
	}
	bounded, err := DecodeEvidence(EncodeEvidence(e, MetadataSize(metadata)))
	if err != nil {
		return nil // it was encoded just before
	}
	return bounded
}

// separatorsIn is how many bytes Postgres adds to a JSON text at most: a space behind each
// colon and comma, also counted where they are in strings.
func separatorsIn(text []byte) int {
	return strings.Count(string(text), ",") + strings.Count(string(text), ":")
}

// evidenceCuts make evidence smaller, one after the other. The last but one leaves nothing
// but the mark.
func evidenceCuts() []func(*Evidence) {
	return []func(*Evidence){
		func(e *Evidence) { e.Certificates = e.Certificates[:min(len(e.Certificates), 1)] },
		func(e *Evidence) { e.Dialog = e.Dialog[max(0, len(e.Dialog)-5):] },
		func(e *Evidence) { e.Headers = e.Headers[:min(len(e.Headers), 20)] },
		func(e *Evidence) { e.Body = e.Body.cut(1 << 10) },
		func(e *Evidence) { e.Headers = e.Headers[:min(len(e.Headers), 8)] },
		func(e *Evidence) { e.Body = e.Body.cut(256) },
		func(e *Evidence) { e.Headers, e.Certificates, e.Dialog, e.Packets = nil, nil, nil, nil },
		func(e *Evidence) { e.DNS, e.Attempts, e.Redirects = nil, nil, nil },
		func(e *Evidence) { e.Body = e.Body.cut(0) },
		func(e *Evidence) { *e = Evidence{Truncated: true} },
		func(*Evidence) {},
	}
}

// cut returns the body with at most limit bytes of its text.
func (b *EvidenceContent) cut(limit int) *EvidenceContent {
	if b == nil || len(b.Text) <= limit {
		return b
	}
	shorter := *b
	shorter.Text, shorter.Truncated = Truncate(b.Text, limit), true
	return &shorter
}

// DecodeEvidence reads what EncodeEvidence wrote; nil for an empty text.
func DecodeEvidence(text []byte) (*Evidence, error) {
	if len(text) == 0 {
		return nil, nil
	}
	var e Evidence
	if err := json.Unmarshal(text, &e); err != nil {
		return nil, err
	}
	return &e, nil
}

// Text returns the evidence for a message: a line for each fact, the most useful first, and
// the body at the end, of at most limit bytes. Empty for nil.
func (e *Evidence) Text(limit int) string {
	return Shorten(strings.Join(e.Lines(), "\n"), limit)
}

// Lines returns the evidence for people, a line for each fact and each line of the body.
func (e *Evidence) Lines() []string {
	if e == nil {
		return nil
	}
	var lines []string
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	if e.Step != "" {
		add("Step: %s", e.Step)
	}
	if e.StatusLine != "" {
		add("%s", e.StatusLine)
	}
	if e.Address != "" {
		add("Address: %s", e.Address)
	}
	for _, attempt := range e.Attempts {
		add("Attempt: %s: %s", attempt.Address, attempt.Error)
	}
	for _, lookup := range e.DNS {
		add("DNS: %s", lookup.line())
	}
	for _, redirect := range e.Redirects {
		add("Redirect: %s", redirect.line())
	}
	if e.CertificateError != "" {
		add("Certificate error: %s", e.CertificateError)
	}
	for _, cert := range e.Certificates {
		add("Certificate: %s", cert.line())
	}
	for _, line := range e.Packets {
		add("Packet: %s", line)
	}
	for _, line := range e.Dialog {
		add("Server: %s", line)
	}
	for _, header := range e.Headers {
		add("%s: %s", header.Name, header.Value)
	}
	if e.Truncated {
		add("(parts of the evidence are left out)")
	}
	return append(lines, e.Body.lines()...)
}

func (l EvidenceLookup) line() string {
	text := strings.TrimSpace(l.Name + " " + l.Type)
	for _, part := range []string{l.Rcode, strings.Join(l.Answers, ", "), l.Error} {
		if part != "" {
			text += ": " + part
		}
	}
	if l.Server != "" {
		text += " (name server " + l.Server + ")"
	}
	return text
}

func (r EvidenceRedirect) line() string {
	text := strconv.Itoa(r.Status) + " " + r.From + " to " + r.To
	if r.Failed {
		text += " (failed)"
	}
	return text
}

func (c EvidenceCertificate) line() string {
	text := c.Subject + ", issued by " + c.Issuer + ", valid until " + c.NotAfter
	if len(c.SANs) > 0 {
		text += ", for " + strings.Join(c.SANs, ", ")
	}
	return text
}

func (b *EvidenceContent) lines() []string {
	switch {
	case b == nil:
		return nil
	case b.Binary:
		return []string{fmt.Sprintf("Body: binary, %s", b.size())}
	case b.Text == "":
		return []string{fmt.Sprintf("Body: %s", b.size())}
	}
	head := fmt.Sprintf("Body (%s):", b.size())
	if b.Truncated {
		head = fmt.Sprintf("Body (the beginning of %s):", b.size())
	}
	return append([]string{head}, strings.Split(strings.TrimRight(b.Text, "\n"), "\n")...)
}

func (b *EvidenceContent) size() string {
	if b.Bytes == 1 {
		return "1 byte"
	}
	return strconv.FormatInt(b.Bytes, 10) + " bytes"
}

// When a failed result keeps its evidence. See docs/adr/0036.
const (
	// evidenceFirst is how many failures at the beginning of an episode keep evidence.
	evidenceFirst = 3
	// evidenceEvery is the time after which a failure keeps evidence with any error.
	evidenceEvery = time.Hour
	// evidenceErrors is how many errors of an episode a loop remembers: one of these is not a
	// changed error.
	evidenceErrors = 4
	// evidenceBurst results can keep evidence one after the other; then one more every
	// evidenceRefill. This bounds what a target writes whose errors or health change with
	// every result.
	evidenceBurst  = 12
	evidenceRefill = 30 * time.Minute
)

// maxEvidencePerDay is how many results of a loop keep evidence on one day at most.
const maxEvidencePerDay = evidenceBurst + int(24*time.Hour/evidenceRefill)

// evidenceState is what a loop remembers of the evidence that its results kept. It enters
// workflow histories: instants and hashes only.
type evidenceState struct {
	// Slot of the newest result with evidence.
	Slot time.Time `json:"slot"`
	// Errors are hashes of the errors that have evidence in this episode, the newest last.
	Errors []uint32 `json:"errors,omitempty"`
	// Spent is when the allowance of the loop is complete again.
	Spent time.Time `json:"spent,omitzero"`
}

// WantsEvidence reports whether a result that comes after the state is to keep its evidence:
// the first failures of an episode, a changed error, one that changes which rules fire, and
// else one every hour, as far as the allowance of the loop permits. Only the state and the
// arguments matter.
func (s State) WantsEvidence(rules []Rule, result Result) bool {
	if result.Success || !result.Slot.After(s.Slot) {
		return false
	}
	known := s.Evidence
	if known != nil && known.Spent.Sub(result.Slot) > (evidenceBurst-1)*evidenceRefill {
		return false
	}
	if s.Failures < evidenceFirst || known == nil || result.Slot.Sub(known.Slot) >= evidenceEvery {
		return true
	}
	if !slices.Contains(known.Errors, errorHash(result)) {
		return true
	}
	next, _ := Evaluate(rules, s, result)
	return !next.SameFiring(s)
}

// foldEvidence returns what a loop remembers after a result. Results by hand have no part in
// the allowance.
func foldEvidence(known *evidenceState, result Result) *evidenceState {
	if result.Success {
		if known == nil || !known.Spent.After(result.Slot) {
			return nil
		}
		return &evidenceState{Slot: known.Slot, Spent: known.Spent}
	}
	if !result.HasEvidence || result.Manual {
		return known
	}
	next := evidenceState{Slot: result.Slot, Spent: result.Slot}
	if known != nil {
		next.Errors = slices.Clone(known.Errors)
		if known.Spent.After(next.Spent) {
			next.Spent = known.Spent
		}
	}
	next.Spent = next.Spent.Add(evidenceRefill)
	hash := errorHash(result)
	next.Errors = append(slices.DeleteFunc(next.Errors, func(one uint32) bool { return one == hash }), hash)
	next.Errors = next.Errors[max(0, len(next.Errors)-evidenceErrors):]
	return &next
}

// errorHash is the same for errors that differ in numbers only. The status of the answer
// counts.
func errorHash(result Result) uint32 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(strconv.Itoa(result.StatusCode) + " " + plainError(result.Error))) // it never fails
	return h.Sum32()
}

// plainError replaces the words of an error that have digits, such as numbers, addresses with
// their ports, durations, times and IDs.
func plainError(text string) string {
	var out strings.Builder
	for start := 0; start < len(text); {
		end := start
		for end < len(text) && isWord(text[end]) {
			end++
		}
		if word := text[start:end]; strings.ContainsAny(word, "0123456789") {
			out.WriteByte('#')
		} else {
			out.WriteString(word)
		}
		if end < len(text) {
			out.WriteByte(text[end])
		}
		start = end + 1
	}
	return out.String()
}

// isWord reports whether a byte is part of a number, an address, a time or an ID.
func isWord(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || strings.IndexByte(".:-_+%[]", c) >= 0
}
