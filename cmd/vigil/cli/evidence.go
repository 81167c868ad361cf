// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/vigil-monitor/vigil/client"
	"github.com/vigil-monitor/vigil/internal/console"
)

// evidenceParts show the evidence of results, a part for each result that has some.
func evidenceParts(results []client.Result) []console.Part {
	var parts []console.Part
	for i := range results {
		r := &results[i]
		if r.Evidence == nil {
			continue
		}
		lines := console.Lines{{}, {Text: fmt.Sprintf("Evidence of %s from %s:", r.Time.UTC().Format(time.RFC3339), r.Region)}}
		for _, line := range evidenceLines(r.Evidence) {
			lines = append(lines, console.Line{Text: "  " + line})
		}
		parts = append(parts, lines)
	}
	if parts == nil {
		parts = append(parts, console.Lines{{}, {Text: "None of these results has evidence."}})
	}
	return parts
}

// evidenceLines are evidence for people, a line for each fact and each line of the body.
func evidenceLines(e *client.Evidence) []string {
	var lines []string
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	named := func(name string, text *string) {
		if value(text) != "" {
			add("%s: %s", name, value(text))
		}
	}
	named("Step", e.Step)
	named("Status", e.StatusLine)
	named("Address", e.Address)
	for _, one := range value(e.Attempts) {
		add("Attempt: %s: %s", one.Address, one.Error)
	}
	for _, one := range value(e.Dns) {
		add("DNS: %s", lookupLine(one))
	}
	for _, one := range value(e.Redirects) {
		failed := ""
		if value(one.Failed) {
			failed = " (failed)"
		}
		add("Redirect: %d %s to %s%s", one.Status, one.From, one.To, failed)
	}
	named("Certificate error", e.CertificateError)
	for _, one := range value(e.Certificates) {
		add("Certificate: %s, issued by %s, valid until %s, for %s", one.Subject, one.Issuer, one.NotAfter, strings.Join(value(one.Sans), ", "))
	}
	for _, one := range value(e.Packets) {
		add("Packet %s", one)
	}
	for _, one := range value(e.Dialog) {
		add("Server: %s", one)
	}
	for _, one := range value(e.Headers) {
		add("%s: %s", one.Name, one.Value)
	}
	if value(e.Truncated) {
		add("(parts of the evidence are left out)")
	}
	return append(lines, bodyLines(e.Body)...)
}

func lookupLine(one client.EvidenceLookup) string {
	line := strings.TrimSpace(one.Name + " " + value(one.Type))
	for _, part := range []string{value(one.Rcode), strings.Join(value(one.Answers), ", "), value(one.Error)} {
		if part != "" {
			line += ": " + part
		}
	}
	if server := value(one.Server); server != "" {
		line += " (name server " + server + ")"
	}
	return line
}

func bodyLines(body *client.EvidenceContent) []string {
	switch {
	case body == nil:
		return nil
	case value(body.Binary):
		return []string{fmt.Sprintf("Body: binary, %d bytes", body.Bytes)}
	case value(body.Text) == "":
		return []string{fmt.Sprintf("Body: %d bytes", body.Bytes)}
	}
	head := fmt.Sprintf("Body (%d bytes):", body.Bytes)
	if value(body.Truncated) {
		head = fmt.Sprintf("Body (the beginning of %d bytes):", body.Bytes)
	}
	return append([]string{head}, strings.Split(strings.TrimRight(value(body.Text), "\n"), "\n")...)
}
