// SPDX-License-Identifier: Apache-2.0

package vigil

import (
	"fmt"
	"strconv"
	"strings"
)

// maxEvidenceText is the maximum length of evidence in a message, in bytes.
const maxEvidenceText = 1024

// Text returns the evidence for a message: a line for each fact, the most useful first, and
// the body at the end, of at most limit bytes. Empty for nil.
func (e *Evidence) Text(limit int) string {
	return shorten(strings.Join(e.Lines(), "\n"), limit)
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
