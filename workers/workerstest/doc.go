// SPDX-License-Identifier: Apache-2.0

// Package workerstest starts the real control plane for tests: Postgres, Temporal,
// the control worker and a receiver of notifications.
package workerstest
