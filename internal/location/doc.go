// SPDX-License-Identifier: Apache-2.0

// Package location has the places of an organization that agents probe from, as people see them:
// what a location is called, whether an agent reports from it, and which keys of regions there are.
package location
