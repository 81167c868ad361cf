// SPDX-License-Identifier: Apache-2.0

// Package statuspage shows status pages to the public: as HTML, JSON and an Atom feed, and the
// badges of their checks. It shows names that were chosen for the public and continents; never a
// target, a check's own name, a region's key or the text of an error.
//
// A request names a page by its slug. The server (server.go) takes the page from the cache, where
// readers who come at the same time share one reading of the store, and an old page is shown while
// Postgres is away (cache.go). What the store returns becomes a view: services with their states
// (state.go), incidents in the words of the public (words.go), maintenance and the bars of the past
// days (bars.go). Each form writes the same view: html.go, json.go, atom.go and badge.go, each once
// for a view, when it is first asked for.
//
// send.go compresses forms and answers 304, password.go asks readers of a page for its password,
// readers.go lets them subscribe, notes.go says what there is to tell, and teller.go notifies it: each note and
// message is a row that is made once, and a message that may have arrived is not sent again.
//
// The store is a small interface whose types hold public facts only, so that a mistake here cannot
// show more than them.
package statuspage
