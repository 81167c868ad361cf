// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/account"
)

// maxName bounds every name that people give to something, in characters.
const maxName = 200

// CleanName trims a name and refuses what no name holds: nothing, too much, or
// characters that break a line wherever the name is shown.
func CleanName(member, name string) (string, error) {
	if err := vigil.CheckLine(member, name); err != nil {
		return "", err
	}
	name = strings.TrimSpace(name)
	switch {
	case name == "":
		return "", vigil.Invalid(member, "must not be empty")
	case utf8.RuneCountInString(name) > maxName:
		return "", vigil.Invalid(member, "must have at most %d characters", maxName)
	}
	return name, nil
}

// plainAddress is an address that every mail server understands, with no quoting and no
// display name, in ASCII: words with dots between them, and a domain (RFC 5321, section 4.1.2).
var plainAddress = regexp.MustCompile("^[a-zA-Z0-9!#$%&'*+/=?^_`{|}~-]+(?:\\.[a-zA-Z0-9!#$%&'*+/=?^_`{|}~-]+)*@" +
	`[a-zA-Z0-9_](?:[a-zA-Z0-9_-]*[a-zA-Z0-9_])?(?:\.[a-zA-Z0-9_](?:[a-zA-Z0-9_-]*[a-zA-Z0-9_])?)*$`)

// maxLocalPart is the most bytes before the @ (RFC 5321, section 4.5.3.1.1).
const maxLocalPart = 64

// CleanEmail refuses what cannot be an email address, and what no mail could be sent to. It
// keeps the case, since that of the part before the @ may matter to its server.
func CleanEmail(member, email string) (string, error) {
	if len(email) > 254 || len(LocalPart(email)) > maxLocalPart || !plainAddress.MatchString(email) {
		return "", vigil.Invalid(
			member,
			"must be an email address in ASCII such as ada@example.com; an international domain in its form with xn--",
		)
	}
	return email, nil
}

// CleanAccountEmail is CleanEmail for the address of an account, which is none that belongs
// to the operator of the platform.
func CleanAccountEmail(member, email string) (string, error) {
	email, err := CleanEmail(member, email)
	if err == nil && account.ReservedAddress(email) {
		err = vigil.Invalid(member, "must be an address that mail can reach: %s is reserved for the operator's account", account.OperatorDomain)
	}
	return email, err
}

// LocalPart is what stands before the @ of an address.
func LocalPart(email string) string {
	local, _, _ := strings.Cut(email, "@")
	return local
}

// Counted writes a number with its noun.
func Counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}
