// SPDX-License-Identifier: Apache-2.0

package egress

import "encoding/base64"

// BasicCredentials returns a user name, which has no colon, and a password as they follow "Basic "
// in a header (RFC 7617 section 2). They are as secret as the password: who sends them hides them.
func BasicCredentials(username, password string) string {
	return base64.StdEncoding.EncodeToString([]byte(username + ":" + password))
}
