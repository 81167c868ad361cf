// SPDX-License-Identifier: Apache-2.0

// Package statuspage shows status pages to the public: as HTML, JSON and an Atom feed, and
// the badges of their checks. It shows names that were chosen for the public and
// continents; never a target, a check's own name, a region's key or the text of an error.
package statuspage
