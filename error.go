package vigil

import (
	"errors"
	"fmt"
)

// Code says which kind of mistake an error is. Its value is the machine
// readable member "code" of an error answer.
type Code string

// The codes of the interface, each with the HTTP status that carries it.
const (
	CodeInvalid      Code = "invalid_request"    // 400
	CodeUnauthorized Code = "unauthorized"       // 401
	CodeForbidden    Code = "forbidden"          // 403
	CodePlanLimit    Code = "plan_limit"         // 403
	CodeNotFound     Code = "not_found"          // 404
	CodeMethod       Code = "method_not_allowed" // 405
	CodeConflict     Code = "conflict"           // 409
	CodeTooLarge     Code = "payload_too_large"  // 413
	CodeRateLimited  Code = "rate_limited"       // 429
	CodeInternal     Code = "internal"           // 500
	CodeUnavailable  Code = "unavailable"        // 503
)

// Error is a mistake that may be told to a caller. Message is a whole sentence
// that a person can act on, and never holds a secret or a submitted value that
// could be one. Details are members for programs, or nil.
type Error struct {
	Code    Code
	Message string
	Details map[string]any
	// Cause is for the log only; callers never see it.
	Cause error
}

// Error returns the message, with the cause behind it when there is one. Show
// ErrorMessage to callers, never this.
func (e *Error) Error() string {
	if e.Cause != nil {
		return e.Message + ": " + e.Cause.Error()
	}
	return e.Message
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// Errorf makes an Error of the given code; the format is the whole sentence.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Invalid makes a CodeInvalid error about one member of a body or query, named
// by its path, such as "config.url". Both the sentence and the details name it.
func Invalid(member, format string, args ...any) *Error {
	return &Error{
		Code:    CodeInvalid,
		Message: member + ": " + fmt.Sprintf(format, args...),
		Details: map[string]any{"member": member},
	}
}

// NotFound makes the CodeNotFound error for a kind of resource, such as
// "check". Another organization's resource gets the same error as none.
func NotFound(kind string) *Error {
	return Errorf(CodeNotFound, "%s not found", kind)
}

// ErrorCode returns the code of the first Error in err's chain, CodeInternal
// for any other error and "" for nil.
func ErrorCode(err error) Code {
	if err == nil {
		return ""
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return CodeInternal
}

// ErrorMessage returns the sentence a caller may see: that of the first Error
// in err's chain, a fixed one for any other error.
func ErrorMessage(err error) string {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Message
	}
	return "Something went wrong on our side. Try again; if it stays, report the request id."
}
