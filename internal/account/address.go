// SPDX-License-Identifier: Apache-2.0

package account

import "strings"

// OperatorDomain is the domain of the operator's own account. Its top level domain is
// reserved (RFC 2606): no mail can ever reach it.
const OperatorDomain = "vigil.invalid"

// ReservedAddress reports whether a mail address belongs to OperatorDomain or a domain
// below it, in any case and with a dot at its end. No request makes an account with one.
func ReservedAddress(address string) bool {
	domain := strings.ToLower(strings.TrimRight(address[strings.LastIndex(address, "@")+1:], "."))
	return domain == OperatorDomain || strings.HasSuffix(domain, "."+OperatorDomain)
}
