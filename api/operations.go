// SPDX-License-Identifier: Apache-2.0

package api

import "github.com/vigil-monitor/vigil/api/rest"

// operations are those of a resource.
type operations interface{ Register(r *rest.Registrar) }

// registerAll registers the operations of several resources, in their order.
func registerAll(r *rest.Registrar, list []operations) {
	for _, one := range list {
		one.Register(r)
	}
}
