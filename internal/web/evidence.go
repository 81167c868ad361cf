// SPDX-License-Identifier: Apache-2.0

package web

import (
	"fmt"
	"strings"

	"github.com/vigil-monitor/vigil/client"
)

// evidenceView is what a failed probe saw of its target. All of it is text from outside, which
// the templates escape.
type evidenceView struct {
	Facts    []fact
	Headers  string // a line each
	BodyText string
	BodyNote string // how much of the body there is
}

// evidenceOf shows the evidence of a result; nil when it has none.
func evidenceOf(result *client.Result) *evidenceView {
	e := result.Evidence
	if e == nil {
		return nil
	}
	v := &evidenceView{}
	add := func(name, value string, mono bool) {
		if value != "" {
			v.Facts = append(v.Facts, fact{Name: name, Value: value, Mono: mono})
		}
	}
	add("Step", valueOf(e.Step), false)
	add("Status line", valueOf(e.StatusLine), true)
	add("Address reached", valueOf(e.Address), true)
	for _, one := range valueOf(e.Attempts) {
		add("Not reached", one.Address+": "+one.Error, true)
	}
	for _, one := range valueOf(e.Dns) {
		add("DNS", lookupText(one), true)
	}
	for _, one := range valueOf(e.Redirects) {
		failed := ""
		if one.Failed != nil && *one.Failed {
			failed = ", which failed"
		}
		add("Redirect", fmt.Sprintf("%d %s to %s%s", one.Status, one.From, one.To, failed), true)
	}
	add("Certificate error", valueOf(e.CertificateError), false)
	for _, one := range valueOf(e.Certificates) {
		add("Certificate", certificateText(one), true)
	}
	for _, one := range valueOf(e.Packets) {
		add("Packet", one, true)
	}
	for _, one := range valueOf(e.Dialog) {
		add("Server", one, true)
	}
	var headers []string
	for _, one := range valueOf(e.Headers) {
		headers = append(headers, one.Name+": "+one.Value)
	}
	v.Headers = strings.Join(headers, "\n")
	if e.Truncated != nil && *e.Truncated {
		add("Left out", "Parts that would make the result too large", false)
	}
	v.addBody(e.Body)
	return v
}

func (v *evidenceView) addBody(body *client.EvidenceContent) {
	if body == nil {
		return
	}
	size := number(body.Bytes) + " bytes"
	switch {
	case body.Binary != nil && *body.Binary:
		v.BodyNote = "binary, " + size
	case body.Truncated != nil && *body.Truncated:
		v.BodyNote = "the beginning of " + size
	default:
		v.BodyNote = size
	}
	v.BodyText = valueOf(body.Text)
}

func lookupText(one client.EvidenceLookup) string {
	parts := []string{strings.TrimSpace(one.Name + " " + valueOf(one.Type))}
	for _, part := range []string{valueOf(one.Rcode), strings.Join(valueOf(one.Answers), ", "), valueOf(one.Error)} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	text := strings.Join(parts, ": ")
	if server := valueOf(one.Server); server != "" {
		text += " (name server " + server + ")"
	}
	return text
}

func certificateText(one client.EvidenceCertificate) string {
	text := one.Subject + ", issued by " + one.Issuer + ", valid until " + one.NotAfter
	if names := valueOf(one.Sans); len(names) > 0 {
		text += ", for " + strings.Join(names, ", ")
	}
	return text
}

// valueOf returns what a pointer leads to, or the zero value.
func valueOf[T any](pointer *T) T {
	if pointer == nil {
		var zero T
		return zero
	}
	return *pointer
}
