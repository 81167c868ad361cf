// SPDX-License-Identifier: Apache-2.0

// Package docs has the pages of the documentation, which the program serves as text.
package docs

import "embed"

// Pages are the pages for people who use and operate Vigil, and the records of decisions in adr, as Markdown.
//
//go:embed *.md adr/*.md
var Pages embed.FS
