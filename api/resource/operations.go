// SPDX-License-Identifier: Apache-2.0

package resource

import "github.com/vigil-monitor/vigil/api/rest"

// Operations are those of a resource.
type Operations interface{ Register(r *rest.Registrar) }

// RegisterAll registers the operations of several resources, in their order.
func RegisterAll(r *rest.Registrar, list []Operations) {
	for _, one := range list {
		one.Register(r)
	}
}
