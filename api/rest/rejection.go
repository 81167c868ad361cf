package rest

import (
	"errors"
	"net/http"
	"reflect"
	"strings"
	"sync"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/validation"

	"vigil"
)

// configureHuma sets the few things that Huma keeps in package variables. It
// does so once, before the first operation is registered.
var configureHuma = sync.OnceFunc(func() { //nolint:gochecknoglobals // Huma's own variables are global, so is setting them
	huma.ValidateStrictCasing = true
	huma.DefaultArrayNullable = false
	huma.NewErrorWithContext = func(ctx huma.Context, status int, msg string, errs ...error) huma.StatusError {
		return ErrorOf(ctx.Context(), rejection(ctx.Operation(), status, msg, errs))
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
	validation.MsgExpectedArrayItemsUnique = "must not name anything twice"
})

// requiredMark starts Huma's message about a member that is missing; the name
// of the member follows it.
const requiredMark = "is required: "

// MaxProblems bounds how many problems of one request are listed.
const MaxProblems = 20

// rejection is the error behind a request that Huma refuses before any handler
// of ours has seen it. Values that were sent are never repeated: one of them
// could be a password.
func rejection(op *huma.Operation, status int, msg string, errs []error) error {
	for _, err := range errs {
		if known, ok := errors.AsType[*vigil.Error](err); ok {
			return known
		}
	}
	switch {
	case status == http.StatusRequestEntityTooLarge:
		return errTooLarge()
	case status == http.StatusRequestTimeout:
		return vigil.Invalid("body", "did not arrive in time")
	case strings.HasPrefix(msg, "cannot read request body"):
		return vigil.Invalid("body", "ended before its announced length")
	case status >= http.StatusInternalServerError:
		return errors.Join(append([]error{errors.New(msg)}, errs...)...)
	}
	problems := make([]Problem, 0, min(len(errs), MaxProblems))
	for _, err := range errs {
		p, ok := problemOf(err)
		if !ok {
			continue
		}
		if p.in == "path" {
			return vigil.NotFound(resourceOf(op))
		}
		if len(problems) < MaxProblems {
			problems = append(problems, p)
		}
	}
	if len(problems) == 0 {
		return vigil.Invalid("body", "%s", strings.TrimPrefix(msg, "request body "))
	}
	return InvalidProblems(problems)
}

// Problem is one thing that is wrong with a request.
type Problem struct {
	in      string // path, query, header or body
	Member  string `json:"member"`
	Message string `json:"message"`
}

// problemOf reads what Huma says of one.
func problemOf(err error) (Problem, bool) {
	detail, ok := errors.AsType[*huma.ErrorDetail](err)
	if !ok {
		return Problem{}, false
	}
	in, member, _ := strings.Cut(detail.Location, ".")
	p := Problem{in: in, Member: memberName(member), Message: detail.Message}
	if named, sentence, ok := strings.Cut(detail.Message, ": "); ok && detail.Location == "body" {
		// An error of decodeJSON, of which Huma keeps the sentence only.
		p.Member, p.Message = named, sentence
	}
	if name, ok := strings.CutPrefix(detail.Message, requiredMark); ok {
		p.Member, p.Message = strings.TrimPrefix(member+"."+name, "."), "is required"
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
	return p, true
}

// InvalidProblems puts the first problem into the sentence, and all of them
// into the details when there are more.
func InvalidProblems(problems []Problem) error {
	known := vigil.Invalid(problems[0].Member, "%s", problems[0].Message)
	if len(problems) > 1 {
		known.Details["problems"] = problems
	}
	return known
}

// kindName says what a Go kind is called in JSON.
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
