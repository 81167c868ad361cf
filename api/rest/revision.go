// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/vigil-monitor/vigil"
)

const (
	tagHeader       = "ETag"
	matchHeader     = "If-Match"
	noneMatchHeader = "If-None-Match"
)

// Revisioned is a resource that shows the revision of its definition.
type Revisioned interface {
	// CurrentRevision is 1 or more; 0 is shown without an ETag.
	CurrentRevision() int64
}

// PreconditionOf returns the revisions that the change of ctx accepts; nil accepts every one.
func PreconditionOf(ctx context.Context) vigil.Precondition { return RequestOf(ctx).match }

// conditional reports whether a method changes what has a revision.
func conditional(method string) bool { return method == http.MethodPut || method == http.MethodDelete }

// tagOf is the entity tag of a revision.
func tagOf(revision int64) string { return `"` + strconv.FormatInt(revision, 10) + `"` }

// entityTags is what a header of RFC 9110, section 13.1, names.
type entityTags struct {
	any  bool // the header is *
	tags []entityTag
}

type entityTag struct {
	weak   bool
	opaque string
}

// parseTags reads the lines of If-Match or If-None-Match; nil without one.
func parseTags(name string, lines []string) (*entityTags, error) {
	if lines == nil {
		return nil, nil //nolint:nilnil // no header is no condition
	}
	text := strings.Trim(strings.Join(lines, ","), " \t")
	if text == "*" {
		return &entityTags{any: true}, nil
	}
	var tags []entityTag
	for rest := text; rest != ""; {
		if rest = strings.TrimLeft(rest, " \t,"); rest == "" {
			break
		}
		tag, after, ok := cutTag(rest)
		if !ok {
			return nil, malformedTags(name)
		}
		tags, rest = append(tags, tag), after
	}
	if len(tags) == 0 {
		return nil, malformedTags(name)
	}
	return &entityTags{tags: tags}, nil
}

// cutTag reads the entity tag that text starts with, and the comma behind it.
func cutTag(text string) (tag entityTag, after string, ok bool) {
	text, tag.weak = strings.CutPrefix(text, "W/")
	text, ok = strings.CutPrefix(text, `"`)
	if !ok {
		return tag, "", false
	}
	tag.opaque, after, ok = strings.Cut(text, `"`)
	if !ok || strings.ContainsFunc(tag.opaque, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return tag, "", false
	}
	after = strings.TrimLeft(after, " \t")
	return tag, after, after == "" || after[0] == ','
}

func malformedTags(name string) error {
	return vigil.Invalid(name, `must be the ETag of the resource, in its quotation marks, such as "3"; several such, with commas; or *`)
}

// match returns the revisions that If-Match accepts. A weak tag matches nothing here, and
// neither does one that is no revision: the comparison is the strong one of RFC 9110.
func (t *entityTags) match() vigil.Precondition {
	if t == nil || t.any {
		return nil
	}
	accepted := vigil.Precondition{}
	for _, tag := range t.tags {
		if n, err := strconv.ParseInt(tag.opaque, 10, 64); err == nil && !tag.weak && tagOf(n) == `"`+tag.opaque+`"` {
			accepted = append(accepted, n)
		}
	}
	return accepted
}

// have reports whether If-None-Match names the revision, by the weak comparison.
func (t *entityTags) have(revision int64) bool {
	return t.any || slices.ContainsFunc(t.tags, func(tag entityTag) bool { return tag.opaque == strconv.FormatInt(revision, 10) })
}

// describeConditions adds the header of its method to an operation and reads it.
func describeConditions(op *huma.Operation) {
	var param *huma.Param
	switch {
	case op.Method == http.MethodGet:
		param = &huma.Param{
			Name: noneMatchHeader, In: "header", Schema: &huma.Schema{Type: huma.TypeString},
			Description: "The ETag of an earlier answer. While the definition has that revision, the answer is 304 without a body. " +
				"Health and results change no revision.",
		}
	case conditional(op.Method):
		param = &huma.Param{
			Name: matchHeader, In: "header", Schema: &huma.Schema{Type: huma.TypeString},
			Description: "The ETag that the change is based on. When the resource has another revision meanwhile, nothing changes and the " +
				"answer is 412. Without the header, the change is made in any case.",
		}
	}
	if param != nil {
		op.Parameters = append(op.Parameters, param)
	}
	op.Middlewares = append(op.Middlewares, func(ctx huma.Context, next func(huma.Context)) {
		if err := readConditions(ctx, param); err != nil {
			refuse(ctx, err)
			return
		}
		next(ctx)
	})
}

// readConditions keeps what the header of a request asks for.
func readConditions(ctx huma.Context, param *huma.Param) error {
	req := RequestOf(ctx.Context())
	req.setHeader = ctx.SetHeader
	if param == nil {
		return nil
	}
	var lines []string
	ctx.EachHeader(func(name, value string) {
		if strings.EqualFold(name, param.Name) {
			lines = append(lines, value)
		}
	})
	tags, err := parseTags(param.Name, lines)
	if err != nil {
		return err
	}
	if param.Name == matchHeader {
		req.match = tags.match()
	} else {
		req.noneMatch = tags
	}
	return nil
}

// tagged adds the ETag to the answer of a Revisioned operation. An answer that the client
// has already becomes 304.
func tagged[O any](ctx context.Context, out *O) (*O, error) {
	if out == nil {
		return out, nil
	}
	shown, ok := bodyOf(out).FieldByName("Data").Interface().(Revisioned)
	if !ok {
		return out, nil
	}
	req := RequestOf(ctx)
	req.setHeader(tagHeader, tagOf(shown.CurrentRevision()))
	if req.noneMatch != nil && req.noneMatch.have(shown.CurrentRevision()) {
		return nil, &ErrorView{status: http.StatusNotModified}
	}
	return out, nil
}

// documentRevision describes the ETag and 304.
func documentRevision(method string, op *huma.Operation) {
	tag := map[string]*huma.Header{tagHeader: {
		Description: "The revision of the definition, in quotation marks, for If-Match and If-None-Match.",
		Schema:      &huma.Schema{Type: huma.TypeString},
	}}
	for status, success := range op.Responses {
		if status[0] == '2' && success.Content != nil {
			success.Headers[tagHeader] = tag[tagHeader]
		}
	}
	if method == http.MethodGet {
		op.Responses[strconv.Itoa(http.StatusNotModified)] = &huma.Response{
			Description: "The definition has the revision that `If-None-Match` names.", Headers: tag,
		}
	}
}
