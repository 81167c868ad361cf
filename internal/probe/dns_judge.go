// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"fmt"
	"slices"
	"strings"

	"github.com/miekg/dns"

	"github.com/vigil-monitor/vigil/internal/egress"
)

const (
	rcodeNoError = "NOERROR"
	// rcodeNoData is no code of an answer: NOERROR without a record of the type (RFC 2308,
	// section 2.2).
	rcodeNoData = "NODATA"
)

// rcodeName is the name of a response code in the registry of IANA.
func rcodeName(code int) string {
	if code == dns.RcodeBadVers { // the library calls it BADSIG, as TSIG does
		return "BADVERS"
	}
	if name := dns.RcodeToString[code]; name != "" {
		return name
	}
	return fmt.Sprintf("RCODE%d", code)
}

func (p dnsProbe) expectsRcode(reply *dns.Msg) bool {
	want := p.config.ExpectedRcode
	if want == rcodeNoData {
		want = rcodeNoError
	}
	return rcodeName(reply.Rcode) == want
}

// judge returns why the answer is a failure, or nil.
func (p dnsProbe) judge(reply *dns.Msg, seen *DNSMetadata) error {
	seen.Rcode = rcodeName(reply.Rcode)
	if p.disclosesInside(reply) {
		return fail("the answer holds private addresses, which this instance does not show; its operator can permit them with %s", egress.Setting)
	}
	values, ttl := p.values(reply)
	seen.TTL = ttl
	seen.Fingerprint = p.fingerprint(seen.Rcode, values)
	for _, value := range values[:min(len(values), maxAnswers)] {
		seen.Answers = append(seen.Answers, clip(value, maxAnswerText))
	}
	wanted := p.config.ExpectedRcode
	switch {
	case !p.expectsRcode(reply):
		return fail("the name server answered %s, expected %s", seen.Rcode, wanted)
	case wanted != rcodeNoError && wanted != rcodeNoData:
		return nil
	case len(values) == 0:
		return p.judgeNothing(reply)
	case wanted == rcodeNoData:
		return fail("%s has the %s records %s, expected none (NODATA)", p.Target(), p.config.RecordType, quoteSome(values))
	}
	return p.compare(values)
}

// judgeNothing judges an answer without a record of the type.
func (p dnsProbe) judgeNothing(reply *dns.Msg) error {
	if to := referral(reply); to != "" {
		return fail("the name server does not know %s and refers to %s; ask one that resolves names, or one of the zone",
			p.Target(), clip(to, maxNameText))
	}
	if p.config.ExpectedRcode == rcodeNoData {
		return nil
	}
	if alias := p.lastAlias(reply); !sameName(alias, p.name) {
		return fail("%s is an alias of %s, for which the answer has no %s record",
			p.Target(), clip(strings.TrimSuffix(alias, "."), maxNameText), p.config.RecordType)
	}
	return fail("%s has no %s record", p.Target(), p.config.RecordType)
}

// referral returns the name server that an answer refers to instead of answering, empty when
// it does not (RFC 2308, section 2.2): it names servers and no start of authority.
func referral(reply *dns.Msg) string {
	to := ""
	for _, record := range reply.Ns {
		switch record := record.(type) {
		case *dns.SOA:
			return ""
		case *dns.NS:
			to = strings.TrimSuffix(record.Ns, ".")
		}
	}
	if reply.Authoritative || len(reply.Answer) > 0 {
		return ""
	}
	return to
}

// compare returns why the values are not the expected ones, or nil.
func (p dnsProbe) compare(values []string) error {
	var missing, surplus []string
	for _, one := range p.expected {
		if !slices.ContainsFunc(values, one.is) {
			missing = append(missing, one.text)
		}
	}
	for _, value := range values {
		if !slices.ContainsFunc(p.expected, func(one expectedValue) bool { return one.is(value) }) {
			surplus = append(surplus, value)
		}
	}
	found := fmt.Sprintf("%s has the %s records %s", p.Target(), p.config.RecordType, quoteSome(values))
	switch {
	case len(p.expected) == 0:
		return nil
	case p.config.Match == "any" && len(missing) == len(p.expected):
		return fail("%s, expected one of %s", found, quoteSome(missing))
	case p.config.Match != "any" && len(missing) > 0:
		return fail("%s, expected %s as well", found, quoteSome(missing))
	case p.config.Match == "exact" && len(surplus) > 0:
		return fail("%s, expected no %s", found, quoteSome(surplus))
	}
	return nil
}
