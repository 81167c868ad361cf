// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"bytes"
	"mime"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
)

// prescanned is how many bytes of a page are searched for its charset, as the HTML Standard has it.
const prescanned = 1024

var (
	// charsetParameter finds the charset in a content type, also in one that is malformed.
	charsetParameter = regexp.MustCompile(`(?i)charset\s*=\s*["']?([^\s"';,]+)`)
	xmlDeclaration   = regexp.MustCompile(`^<\?xml[^>]{0,200}?\sencoding\s*=\s*["']([A-Za-z0-9._:-]{1,40})["']`)
)

// plainText returns a body as UTF-8 and without a byte order mark, or why it cannot be read. Its
// charset is that of the mark, else of the content type, else of the page's own meta element or
// XML declaration, in the order of the HTML Standard (section 13.2.3.2). JSON is UTF-8 for any
// content type, and its mark is ignored (RFC 8259, sections 8.1 and 11).
func plainText(body []byte, contentType string) (text []byte, problem string) {
	label := ""
	switch {
	case bytes.HasPrefix(body, []byte("\xef\xbb\xbf")):
		return body[3:], ""
	case bytes.HasPrefix(body, []byte("\xfe\xff")):
		label, body = "utf-16be", body[2:]
	case bytes.HasPrefix(body, []byte("\xff\xfe")):
		label, body = "utf-16le", body[2:]
	default:
		label = declaredCharset(body, contentType)
	}
	if label == "" {
		return body, ""
	}
	encoding, name := charset.Lookup(label)
	switch {
	case name == "utf-8":
		return body, ""
	case encoding == nil || name == "replacement":
		if utf8.Valid(body) {
			return body, ""
		}
		return body, "its charset is " + quoted(label) + ", which is not known"
	}
	decoded, err := encoding.NewDecoder().Bytes(body)
	if err != nil {
		return body, "it is not valid " + name
	}
	return decoded, ""
}

// declaredCharset is the label of the charset that a body without a mark is in; empty for UTF-8
// and for bytes that say nothing of it.
func declaredCharset(body []byte, contentType string) string {
	if isJSON(contentType) && utf8.Valid(body) {
		return ""
	}
	if found := charsetParameter.FindStringSubmatch(contentType); found != nil {
		return found[1]
	}
	first := body[:min(len(body), prescanned)]
	if found := xmlDeclaration.FindSubmatch(first); found != nil {
		return string(found[1])
	}
	if !isHTML(first, contentType) {
		return ""
	}
	_, name, _ := charset.DetermineEncoding(first, "text/html")
	if name == "windows-1252" && utf8.Valid(body) { // also what a page is in that says nothing
		return ""
	}
	return name
}

func isHTML(first []byte, contentType string) bool {
	switch mediaType(contentType) {
	case "text/html", "application/xhtml+xml":
		return true
	case "":
		return strings.HasPrefix(http.DetectContentType(first), "text/html")
	}
	return false
}

func isJSON(contentType string) bool {
	kind := mediaType(contentType)
	return strings.HasSuffix(kind, "/json") || strings.HasSuffix(kind, "+json")
}

// mediaType is a content type without its parameters, in lower case.
func mediaType(contentType string) string {
	kind, _, _ := mime.ParseMediaType(contentType)
	if kind == "" {
		kind, _, _ = strings.Cut(contentType, ";")
	}
	return strings.ToLower(strings.TrimSpace(kind))
}

// quoted is a word from outside in quotes, bounded.
func quoted(word string) string { return strconv.Quote(clip(word, maxShown)) }
