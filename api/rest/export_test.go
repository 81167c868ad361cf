// SPDX-License-Identifier: Apache-2.0

package rest

// Windows returns how many organizations the limiter remembers.
func (l *Limiter) Windows() int { return len(l.windows) }

// CheckJSON checks a body.
var CheckJSON = checkJSON //nolint:gochecknoglobals // for tests
