// SPDX-License-Identifier: Apache-2.0

// Package guide makes a site of the pages in docs: navigation, headings with addresses, links that
// are checked, and a search that asks no server. The platform serves it at /docs/guide, and `make docs`
// writes the same files to a directory. Nothing of an installation is in it.
//
// A page is readable without JavaScript: the one script adds the search, and without it the form of
// the search leads to the list of all headings. All addresses in the pages are relative, so the
// directory can be served below any path, or opened from a disk.
//
// The pages are made when one is asked for the first time, and are kept compressed.
package guide
