// SPDX-License-Identifier: Apache-2.0

// Package fair shares a bounded number of places among organizations, and among the
// targets of each, so that no organization and no target holds up another one.
package fair
