// SPDX-License-Identifier: Apache-2.0

package mailtest

import (
	"fmt"
	netmail "net/mail"
	"regexp"
	"strings"
)

// Fields that a mail has once, and what they look like (RFC 5322, section 3.6).
//
//nolint:gochecknoglobals // patterns, as those of other packages
var fields = map[string]*regexp.Regexp{
	"From":         regexp.MustCompile(`^("[^"]*" )?<[^\s<>@]+@[^\s<>@]+>$`),
	"To":           regexp.MustCompile(`^<[^\s<>@]+@[^\s<>@]+>(, <[^\s<>@]+@[^\s<>@]+>)*$`),
	"Date":         regexp.MustCompile(`^[A-Z][a-z]{2}, \d{1,2} [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d [+-]\d{4}$`),
	"Message-Id":   regexp.MustCompile(`^<[A-Za-z0-9!#$%&'*+/=?^_{|}~.-]+@[A-Za-z0-9.-]+>$`),
	"Subject":      regexp.MustCompile(`^[ -~]*$`),
	"Mime-Version": regexp.MustCompile(`^1\.0$`),
}

// maxEncoded is how long a line of quoted-printable may be (RFC 2045, section 6.7).
const maxEncoded = 76

// inspect says what is wrong with the content of a mail; empty: nothing is.
func inspect(data string) string {
	for line := range strings.SplitSeq(data, "\r\n") {
		for _, c := range []byte(line) {
			if c >= 0x80 || c < ' ' && c != '\t' {
				return fmt.Sprintf("has the byte %#x in %q", c, line)
			}
		}
	}
	message, err := netmail.ReadMessage(strings.NewReader(data))
	if err != nil {
		return "cannot be read: " + err.Error()
	}
	for name, form := range fields {
		values := message.Header[name]
		if len(values) != 1 || !form.MatchString(values[0]) {
			return fmt.Sprintf("has the fields %s: %q", name, values)
		}
	}
	if _, err := message.Header.Date(); err != nil {
		return "has a date that cannot be read"
	}
	head, body, _ := strings.Cut(data, "\r\n\r\n")
	for line := range strings.SplitSeq(head, "\r\n") {
		if strings.TrimSpace(line) == "" {
			return "has a line of its header with spaces only"
		}
	}
	if strings.Contains(strings.ToLower(data), "content-transfer-encoding: quoted-printable") {
		for line := range strings.SplitSeq(body, "\r\n") {
			if len(line) > maxEncoded {
				return fmt.Sprintf("has a line of %d bytes in quoted-printable", len(line))
			}
		}
	}
	return ""
}
