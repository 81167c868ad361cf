// SPDX-License-Identifier: Apache-2.0

package secret

import (
	"net/url"
	"slices"
	"strings"
)

// MaskAddress returns an address of which only scheme, host and port are shown, such as
// https://chat.example.com/***. What is not such an address becomes Mask.
func MaskAddress(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Scheme == "" || u.Host == "" {
		return Mask
	}
	return u.Scheme + "://" + u.Host + "/" + Mask
}

// IsMaskedAddress reports whether a text has the form that MaskAddress gives, or is Mask.
func IsMaskedAddress(text string) bool {
	u, err := url.Parse(text)
	return text == Mask || err == nil && u.Scheme != "" && u.Host != "" && text == MaskAddress(text)
}

// credentialParameters are names of query parameters that hold credentials besides those that
// IsCredentialName knows: as a part of a longer name they would be something else.
func credentialParameters() []string {
	return []string{"code", "hmac", "jwt", "pass", "pw", "pwd", "sas", "sid", "sig"}
}

// IsCredentialParameter reports whether the name of a query parameter says that its value is
// a credential: as IsCredentialName does, and by a list of short names such as sig and pwd.
func IsCredentialParameter(name string) bool {
	return IsCredentialName(name) || slices.Contains(credentialParameters(), strings.ToLower(name))
}

// RewriteParameters gives the value of every query parameter of an address whose name says
// that it is a credential to change, as it is written there, and returns the address with what
// change returns. Empty values are left out. Names may be percent-encoded. The fragment, and an
// address in the value of a parameter, are looked through as well; a credential goes on to the
// next "&".
func RewriteParameters(address string, change func(name, value string) (string, error)) (string, error) {
	begin := strings.IndexAny(address, "?#")
	if begin < 0 {
		return address, nil
	}
	var out strings.Builder
	out.WriteString(address[:begin])
	for i, part := range strings.Split(address[begin:], "&") {
		if i > 0 {
			out.WriteByte('&')
		}
		name, from := credentialIn(part)
		if from < 0 || from == len(part) {
			out.WriteString(part)
			continue
		}
		value, err := change(name, part[from:])
		if err != nil {
			return "", err
		}
		out.WriteString(part[:from] + value)
	}
	return out.String(), nil
}

// MaskParameters returns an address with Mask in the place of the values that
// RewriteParameters finds.
func MaskParameters(address string) string {
	masked, err := RewriteParameters(address, func(string, string) (string, error) { return Mask, nil })
	if err != nil {
		return Mask
	}
	return masked
}

// credentialIn returns the first name of a part of a query that says credential, and where its
// value begins; -1 when there is none.
func credentialIn(part string) (name string, from int) {
	for at := 0; at < len(part); {
		end := len(part)
		if next := strings.IndexAny(part[at:], "?;#"); next >= 0 {
			end = at + next
		}
		if equals := strings.IndexByte(part[at:end], '='); equals >= 0 {
			name = part[at : at+equals]
			if decoded, err := url.QueryUnescape(name); err == nil {
				name = decoded
			}
			if IsCredentialParameter(name) {
				return name, at + equals + 1
			}
		}
		at = end + 1
	}
	return "", -1
}

// parameterMasked reports whether a value of a query stands for a stored secret, also when a
// program has encoded it.
func parameterMasked(value string) bool {
	decoded, err := url.QueryUnescape(value)
	return err == nil && decoded == Mask
}

// knownForms returns the forms in which a value of a query is known: as written and decoded,
// also without the fragment, which is not sent.
func knownForms(value string) []string {
	var forms []string
	add := func(form string, err error) {
		if err == nil && form != "" && !slices.Contains(forms, form) {
			forms = append(forms, form)
		}
	}
	sent, _, _ := strings.Cut(value, "#")
	for _, form := range []string{value, sent} {
		add(form, nil)
		add(url.QueryUnescape(form))
		add(url.PathUnescape(form))
	}
	return forms
}
