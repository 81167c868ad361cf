// SPDX-License-Identifier: Apache-2.0

// Package guide makes a site of the pages in docs: navigation, headings with addresses, links that
// are checked, and a search that asks no server. The platform serves it at /docs/guide, and `make
// docs` writes the same files to a directory. Nothing of an installation is in it.
//
// A page is readable without JavaScript: the one script adds the search, and without it the form of
// the search leads to the list of all headings. All addresses in the pages are relative, so the
// directory can be served below any path, or opened from a disk.
//
// The pages are made when one is asked for the first time, and are kept compressed.
//
// document.go reads a page of Markdown, headings.go gives its headings the addresses that code
// hosts give them, site.go puts the pages into the order of docs/README.md and checks every link,
// and serve.go answers requests. A link that leads nowhere, or a page without a line in that list,
// is an error of the build, so the tests find it.
package guide
