// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/miekg/dns"

	"github.com/vigil-monitor/vigil"
)

// values returns the values of the records of the type asked for, sorted and
// each once, and their smallest time to live. Records of other names are not part of the
// answer.
func (p dnsProbe) values(reply *dns.Msg) (values []string, ttl *uint32) {
	owner := p.lastAlias(reply)
	for _, record := range reply.Answer {
		header := record.Header()
		if header.Rrtype != p.question || !sameName(header.Name, owner) {
			continue
		}
		if ttl == nil || header.Ttl < *ttl {
			ttl = &header.Ttl
		}
		value := strings.TrimPrefix(record.String(), header.String())
		if txt, ok := record.(*dns.TXT); ok {
			value = textOf(txt.Txt)
		}
		values = append(values, canonical(value, p.question))
	}
	slices.Sort(values)
	return slices.Compact(values), ttl
}

// lastAlias is the name that the aliases of an answer lead to (RFC 1034, section 3.6.2), the
// name asked for when there is none.
func (p dnsProbe) lastAlias(reply *dns.Msg) string {
	name := p.name
	if p.question == dns.TypeCNAME {
		return name
	}
	for range reply.Answer {
		next := ""
		for _, record := range reply.Answer {
			if alias, ok := record.(*dns.CNAME); ok && sameName(alias.Hdr.Name, name) {
				next = alias.Target
			}
		}
		if next == "" {
			break
		}
		name = next
	}
	return name
}

// sameName compares names, whose spelling does not matter (RFC 4343).
func sameName(a, b string) bool { return strings.EqualFold(dns.Fqdn(a), dns.Fqdn(b)) }

// canonical writes a value in one form: names in lower case
// and without the dot at their end, no quotes. Text is left as it is.
func canonical(value string, question uint16) string {
	if question == dns.TypeTXT {
		return value
	}
	fields := strings.Fields(strings.ReplaceAll(strings.ToLower(value), `"`, ""))
	for i, field := range fields {
		if field != "." {
			fields[i] = strings.TrimSuffix(field, ".")
		}
	}
	return strings.Join(fields, " ")
}

// fingerprint hashes the question and, apart from it, the record set, so that
// the answers to two questions are not taken for a change of records.
func (p dnsProbe) fingerprint(rcode string, values []string) string {
	question := hashed(8, strings.ToLower(p.name), p.config.RecordType)
	return question + vigil.FingerprintSeparator + hashed(16, p.config.RecordType, rcode, values)
}

// hashed is the beginning of the hash of some values, in hexadecimal.
func hashed(bytes int, values ...any) string {
	text, err := json.Marshal(values)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:bytes])
}

// quoteSome lists a few values.
func quoteSome(values []string) string {
	shown := make([]string, 0, 3)
	for _, value := range values[:min(3, len(values))] {
		shown = append(shown, fmt.Sprintf("%q", clip(value, maxShown)))
	}
	if len(values) > 3 {
		shown = append(shown, fmt.Sprintf("and %d more", len(values)-3))
	}
	return strings.Join(shown, ", ")
}
