// SPDX-License-Identifier: Apache-2.0

package web

// kindHeartbeat is the type that nothing is probed for: it has no interval and no regions of its own.
const kindHeartbeat = "heartbeat"
