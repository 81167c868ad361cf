// SPDX-License-Identifier: Apache-2.0

package vigil

import (
	"errors"
	"fmt"
	"strings"
)

// Code is the kind of an error: the member "code" of an error response.
type Code string

// Codes of the API, with their HTTP statuses.
const (
	CodeInvalid      Code = "invalid_request"     // 400
	CodeUnauthorized Code = "unauthorized"        // 401
	CodeForbidden    Code = "forbidden"           // 403
	CodePlanLimit    Code = "plan_limit"          // 403
	CodeNotFound     Code = "not_found"           // 404
	CodeMethod       Code = "method_not_allowed"  // 405
	CodeConflict     Code = "conflict"            // 409
	CodePrecondition Code = "precondition_failed" // 412
	CodeTooLarge     Code = "payload_too_large"   // 413
	CodeRateLimited  Code = "rate_limited"        // 429
	CodeInternal     Code = "internal"            // 500
	CodeUnavailable  Code = "unavailable"         // 503
)

// Error is an error that may be shown to a caller. Message is a sentence that a user
// can act on, without secrets and without submitted values that could be secret.
// Details are members for programs, or nil.
type Error struct {
	Code    Code
	Message string
	Details map[string]any
	// Cause is for logs; it is never shown to a caller.
	Cause error
}

// Error returns the message and the cause, for logs. Use ErrorMessage for callers.
func (e *Error) Error() string {
	if e.Cause != nil {
		return e.Message + ": " + e.Cause.Error()
	}
	return e.Message
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// Errorf returns an Error with the code; the format is a whole sentence.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// The longest name of a member, and the longest path, that an error repeats, in bytes.
const (
	maxMemberName = 64
	maxMemberPath = 256
)

// MemberPath returns the path of a member in a form that an error may repeat: each name
// is cut to 64 bytes and the path to 256, since a caller may have made the names up. A
// path that is cut ends with "...".
func MemberPath(path string) string {
	if len(path) <= maxMemberName {
		return path
	}
	path = Truncate(path, 2*maxMemberPath) // what follows would be cut in any case
	names := strings.Split(path, ".")
	for i, name := range names {
		if len(name) > maxMemberName {
			names[i] = Truncate(name, maxMemberName) + "..."
		}
	}
	short := strings.Join(names, ".")
	if len(short) > maxMemberPath {
		short = Truncate(short, maxMemberPath) + "..."
	}
	return short
}

// Invalid returns a CodeInvalid error about a member of a body or query. Its path, such
// as "config.url", is part of the message and of the details, both as MemberPath has it.
func Invalid(member, format string, args ...any) *Error {
	member = MemberPath(member)
	return &Error{
		Code:    CodeInvalid,
		Message: member + ": " + fmt.Sprintf(format, args...),
		Details: map[string]any{"member": member},
	}
}

// Beneath returns an error about a member of a value as one about the member of what has the
// value at a path, such as rules[0]. An error that names no member is returned as it is.
func Beneath(path string, err error) error {
	known, ok := errors.AsType[*Error](err)
	if !ok {
		return err
	}
	member, ok := known.Details["member"].(string)
	if !ok {
		return err
	}
	moved := Invalid(path+"."+member, "%s", strings.TrimPrefix(known.Message, member+": "))
	moved.Code = known.Code
	for name, detail := range known.Details {
		if name != "member" {
			moved.Details[name] = detail
		}
	}
	return moved
}

// RetryDetail is the member of an error's details that says how many seconds to wait
// before the request is repeated.
const RetryDetail = "retry_after_seconds"

// NotFound returns the CodeNotFound error for a kind of resource, such as "check". A
// resource of another organization gets the same error.
func NotFound(kind string) *Error {
	return Errorf(CodeNotFound, "%s not found", kind)
}

// ErrorCode returns the code of the first Error in err's chain, CodeInternal without
// one, and "" for nil.
func ErrorCode(err error) Code {
	if err == nil {
		return ""
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return CodeInternal
}

// ErrorMessage returns the message for a caller: that of the first Error in err's
// chain, or a generic one.
func ErrorMessage(err error) string {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Message
	}
	return "Something went wrong on our side. Try again; if it stays, report the request id."
}
