// SPDX-License-Identifier: Apache-2.0

package probe

import "github.com/vigil-monitor/vigil/internal/egress"

// OverTransport makes all HTTP exchanges over the transport of net/http.
func OverTransport() Option {
	return func(env *environment) { env.client = (*egress.Guard).Client }
}
