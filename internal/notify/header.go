// SPDX-License-Identifier: Apache-2.0

package notify

import "strings"

// reserved reports whether only the platform may send a header.
func reserved(canonical string) bool {
	switch canonical {
	case "Host", headerWebhookID, headerWebhookTimestamp, headerWebhookSignature:
		return true
	}
	return strings.HasPrefix(canonical, "X-Service-")
}
