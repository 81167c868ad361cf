// SPDX-License-Identifier: Apache-2.0

// Package agents stores locations, their agents, and what agents send.
package agents
