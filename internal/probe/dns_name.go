// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/miekg/dns"
	"golang.org/x/net/idna"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/config"
)

// dnsNames writes internationalized names as they are registered (UTS 46). What is no host
// name, such as _dmarc.example.com, is a name to look up all the same (RFC 2181, section 11).
var dnsNames = idna.New( //nolint:gochecknoglobals // made once, never changed
	idna.MapForLookup(), idna.Transitional(false), idna.StrictDomainName(false), idna.CheckHyphens(false), idna.BidiRule(),
)

// parseQuery returns the name to ask for, with a dot at its end.
func parseQuery(host string, question uint16) (string, error) {
	if addr, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
		if question != dns.TypePTR {
			return "", vigil.Invalid("config.host", "must be a name; an address can only be looked up as PTR")
		}
		name, err := dns.ReverseAddr(addr.WithZone("").String())
		if err != nil {
			return "", vigil.Invalid("config.host", "is not a valid address")
		}
		return name, nil
	}
	if host == "." { // the root
		return host, nil
	}
	name, err := dnsNames.ToASCII(strings.TrimSuffix(host, "."))
	if err == nil && validDNSName(name) && !looksNumeric(name[strings.LastIndexByte(name, '.')+1:]) {
		return dns.Fqdn(strings.ToLower(name)), nil
	}
	if name, err = parseName("config.host", host); err != nil { // it words what is wrong
		return "", err
	}
	return dns.Fqdn(name), nil
}

// validDNSName reports whether a name could be looked up: labels as of a host name, and with
// the characters that some zones have besides. A slash is only for the reverse zones of
// networks (RFC 2317): elsewhere it is that of a URL.
func validDNSName(name string) bool {
	plain := strings.NewReplacer("*", "x", "+", "x", "=", "x", "~", "x").Replace(name)
	if strings.HasSuffix(strings.ToLower(name), ".in-addr.arpa") {
		plain = strings.ReplaceAll(plain, "/", "-")
	}
	return validName(plain)
}

// expectedValue is one of the expected values, in the form of the answers.
type expectedValue struct {
	text string
	// quoted is the text of a value that is written as a zone file writes TXT: parts in
	// quotes. Empty for others.
	quoted string
}

func (v expectedValue) is(value string) bool {
	return value == v.text || v.quoted != "" && value == v.quoted
}

// parseExpected returns the expected values as the answers are written.
func parseExpected(c DNSConfig, question uint16) ([]expectedValue, error) {
	if len(c.ExpectedValues) > 0 && c.ExpectedRcode != rcodeNoError {
		return nil, vigil.Invalid("config.expected_values", "cannot be combined with an expected_rcode other than NOERROR")
	}
	expected := make([]expectedValue, 0, len(c.ExpectedValues))
	for i, given := range c.ExpectedValues {
		path := config.Element("config.expected_values", i)
		if question == dns.TypeA || question == dns.TypeAAAA {
			addr, err := netip.ParseAddr(given)
			if err != nil || addr.Is4() != (question == dns.TypeA) || addr.Zone() != "" {
				return nil, vigil.Invalid(path, "must be an address of the record type")
			}
			given = addr.String()
		}
		if given == "" {
			return nil, vigil.Invalid(path, "must not be empty")
		}
		value := expectedValue{text: canonical(inASCII(given, question), question)}
		if question == dns.TypeTXT {
			value.quoted = unquoteTXT(given)
		}
		if !slices.Contains(expected, value) {
			expected = append(expected, value)
		}
	}
	return expected, nil
}

// inASCII writes the internationalized names in a value as an answer has them.
func inASCII(value string, question uint16) string {
	if isASCII(value) || question == dns.TypeTXT || question == dns.TypeCAA {
		return value
	}
	fields := strings.Fields(value)
	for i, field := range fields {
		if name, err := dnsNames.ToASCII(field); err == nil {
			fields[i] = name
		}
	}
	return strings.Join(fields, " ")
}

// unquoteTXT returns the text of TXT data as a zone file writes it, strings in quotes that
// belong together (RFC 1035 section 5.1, RFC 7208 section 3.3); empty for what is not written so.
func unquoteTXT(given string) string {
	if !strings.HasPrefix(given, `"`) || !strings.HasSuffix(given, `"`) {
		return ""
	}
	record, err := dns.NewRR(". 0 IN TXT " + given)
	txt, ok := record.(*dns.TXT)
	if err != nil || !ok {
		return ""
	}
	return textOf(txt.Txt)
}

// textOf joins the strings of a TXT record as the bytes that they are: the library keeps
// them with the escapes of a zone file (RFC 1035, section 5.1).
func textOf(parts []string) string {
	joined := strings.Join(parts, "")
	if !strings.Contains(joined, `\`) {
		return joined
	}
	text := make([]byte, 0, len(joined))
	for i := 0; i < len(joined); i++ {
		if joined[i] != '\\' || i+1 == len(joined) {
			text = append(text, joined[i])
			continue
		}
		if code, ok := decimal(joined[i+1:]); ok {
			text = append(text, code)
			i += 3
			continue
		}
		i++
		text = append(text, joined[i])
	}
	return string(text)
}

// decimal reads the three digits of an escaped byte.
func decimal(text string) (byte, bool) {
	if len(text) < 3 {
		return 0, false
	}
	code := 0
	for i := range 3 {
		if text[i] < '0' || text[i] > '9' {
			return 0, false
		}
		code = 10*code + int(text[i]-'0')
	}
	return byte(code), code <= 0xff
}
