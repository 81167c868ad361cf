// SPDX-License-Identifier: Apache-2.0

// Package workercomponent stands in for that of go.temporal.io/auto-scaled-workers, see
// internal/third_party/README.md.
package workercomponent

import "go.uber.org/fx"

// Module provides no component.
var Module = fx.Options()
