// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"cmp"
	"errors"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/validation"

	"github.com/vigil-monitor/vigil"
)

// configureHuma sets Huma's package variables once, before the first operation is
// registered.
var configureHuma = sync.OnceFunc(func() { //nolint:gochecknoglobals // Huma's own variables are global, so is setting them
	huma.ValidateStrictCasing = true
	huma.DefaultArrayNullable = false
	huma.NewErrorWithContext = func(ctx huma.Context, status int, msg string, errs ...error) huma.StatusError {
		return ErrorOf(ctx.Context(), rejection(ctx, status, msg, errs))
	}
	huma.NewError = func(status int, msg string, _ ...error) huma.StatusError {
		return &ErrorView{Message: msg, status: status}
	}
	validation.MsgUnexpectedProperty = "is not a member of this resource"
	validation.MsgExpectedRequiredProperty = requiredMark + "%s"
	validation.MsgExpectedRFC3339DateTime = "must be a date-time such as 2026-01-31T12:00:00Z"
	// The format's argument is the parser's error, which may quote the value.
	validation.MsgExpectedRFC5322Email = "must be an email address%.0s"
	validation.MsgExpectedRFC5322EmailBare = "must be an email address and nothing else"
	validation.MsgExpectedRFC4122UUID = "must be a UUID%.0s"
	validation.MsgExpectedBoolean = "must be true or false"
	validation.MsgExpectedNumber = "must be a number"
	validation.MsgExpectedInteger = "must be a whole number"
	validation.MsgExpectedString = "must be a string"
	validation.MsgExpectedArray = "must be an array"
	validation.MsgExpectedObject = "must be an object"
	validation.MsgExpectedOneOf = `must be one of "%s"`
	validation.MsgExpectedMinimumNumber = "must be at least %v"
	validation.MsgExpectedMaximumNumber = "must be at most %v"
	validation.MsgExpectedMinLength = "must have at least %d characters"
	validation.MsgExpectedMaxLength = "must have at most %d characters"
	validation.MsgExpectedMinItems = "must have at least %d items"
	validation.MsgExpectedMaxItems = "must have at most %d items"
	validation.MsgExpectedArrayItemsUnique = "must not repeat an item"
})

// requiredMark starts Huma's message about a member that is missing; the name
// of the member follows it.
const requiredMark = "is required: "

// maxProblems bounds how many problems of one request are listed.
const maxProblems = 20

// rejection is the error of a request that Huma refuses before its handler runs.
// It never repeats values that were sent: one of them could be a password.
func rejection(ctx huma.Context, status int, msg string, errs []error) error {
	op := ctx.Operation()
	for _, err := range errs {
		if known, ok := errors.AsType[*vigil.Error](err); ok {
			return known
		}
	}
	switch {
	case status == http.StatusRequestEntityTooLarge:
		return ErrTooLarge(op.MaxBodyBytes - 1)
	case status == http.StatusRequestTimeout:
		return vigil.Invalid("body", "did not arrive in time")
	case strings.HasPrefix(msg, "cannot read request body"):
		return vigil.Invalid("body", "ended before its announced length")
	case status >= http.StatusInternalServerError:
		return errors.Join(append([]error{errors.New(msg)}, errs...)...)
	}
	problems := make([]problem, 0, len(errs))
	for _, err := range errs {
		p, ok := problemOf(err)
		if !ok {
			continue
		}
		if p.in == "path" {
			return vigil.NotFound(resourceOf(op))
		}
		problems = append(problems, p)
	}
	problems = append(problems, RequestOf(ctx.Context()).nulls...)
	if len(problems) == 0 {
		return vigil.Invalid("body", "%s", strings.TrimPrefix(msg, "request body "))
	}
	return invalid(inOrder(op, judged(ctx.Context(), op, problems)))
}

// inOrder sorts problems in the order of the body's members, those with unknown
// members last, and keeps the first of each member.
func inOrder(op *huma.Operation, problems []problem) []problem {
	var members []string
	if op != nil {
		members, _ = op.Metadata[metaMembers].([]string)
	}
	for i := range problems {
		problems[i].rank = len(members)
		top, _, _ := strings.Cut(problems[i].Member, "[")
		top, _, _ = strings.Cut(top, ".")
		if at := slices.Index(members, top); at >= 0 && problems[i].Message != validation.MsgUnexpectedProperty {
			problems[i].rank = at
		}
	}
	slices.SortStableFunc(problems, func(a, b problem) int {
		if c := cmp.Compare(a.rank, b.rank); c != 0 || a.rank < len(members) {
			return c
		}
		return strings.Compare(a.Member, b.Member)
	})
	problems = slices.CompactFunc(problems, func(a, b problem) bool { return a.Member == b.Member })
	return problems[:min(len(problems), maxProblems)]
}

// problem is one thing that is wrong with a request.
type problem struct {
	in      string // path, query, header or body
	Member  string `json:"member"`
	Message string `json:"message"`
	rank    int    // of its member among those of the body
}

// problemOf converts an error of Huma.
func problemOf(err error) (problem, bool) {
	detail, ok := errors.AsType[*huma.ErrorDetail](err)
	if !ok {
		return problem{}, false
	}
	in, member, _ := strings.Cut(detail.Location, ".")
	p := problem{in: in, Member: memberName(member), Message: detail.Message}
	if named, sentence, ok := strings.Cut(detail.Message, ": "); ok && detail.Location == "body" {
		// An error of decodeJSON, of which Huma keeps only the message.
		p.Member, p.Message = named, sentence
	}
	if name, ok := strings.CutPrefix(detail.Message, requiredMark); ok {
		p.Member, p.Message = strings.TrimPrefix(member+"."+name, "."), "is required"
	}
	if at := strings.LastIndexByte(p.Member, '['); at > 0 && strings.HasSuffix(p.Member, "]") && p.Message == validation.MsgExpectedString {
		p.Member, p.Message = p.Member[:at], "must be an array of strings"
	}
	switch p.Message {
	case "invalid integer":
		p.Message = validation.MsgExpectedInteger
	case "invalid boolean":
		p.Message = validation.MsgExpectedBoolean
	case "required query parameter is missing":
		p.Message = "is required"
	}
	if strings.HasPrefix(p.Message, "invalid date/time") {
		p.Message = validation.MsgExpectedRFC3339DateTime
	}
	p.Member = vigil.MemberPath(separatorShow.Replace(p.Member))
	return p, true
}

// invalid puts the first problem into the sentence, and all of them into the
// details when there are more.
func invalid(problems []problem) error {
	known := vigil.Invalid(problems[0].Member, "%s", problems[0].Message)
	if len(problems) > 1 {
		known.Details["problems"] = problems
	}
	return known
}

// kindName names a Go kind in terms of JSON.
func kindName(kind reflect.Kind) string {
	switch kind { //nolint:exhaustive // the rest cannot be decoded into
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int32, reflect.Int64, reflect.Uint, reflect.Uint32, reflect.Uint64:
		return "a whole number in range, without fraction or exponent"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Slice, reflect.Array:
		return "an array"
	case reflect.Map, reflect.Struct:
		return "an object"
	}
	return "a string"
}
