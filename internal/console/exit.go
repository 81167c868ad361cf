// SPDX-License-Identifier: Apache-2.0

package console

import (
	"errors"
	"fmt"
)

// Code is the exit code of a program.
type Code int

// The exit codes.
const (
	Done        Code = 0
	Failed      Code = 1
	Usage       Code = 2   // the command line is wrong, or a confirmation is missing
	No          Code = 3   // the command worked, and the answer is no
	Login       Code = 4   // no key, or one that is refused or may not do this
	NotFound    Code = 5   // what was named does not exist
	Conflict    Code = 6   // it changed meanwhile, or another thing is in the way
	Unreachable Code = 7   // no answer, or the server asks to try later
	Interrupted Code = 130 // by the user, as shells count it
)

// ExitError is an error with its exit code. An empty Message is for an answer that was
// printed already.
type ExitError struct {
	Code    Code
	Message string
	Cause   error
}

// Error returns the message.
func (e *ExitError) Error() string { return e.Message }

// Unwrap returns the cause.
func (e *ExitError) Unwrap() error { return e.Cause }

// Errorf returns an error with an exit code.
func Errorf(code Code, format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	return &ExitError{Code: code, Message: err.Error(), Cause: errors.Unwrap(err)}
}

// Silent returns an error that only sets the exit code: the output says it already.
func Silent(code Code) error { return &ExitError{Code: code} }

// CodeOf returns the exit code of an error: Done for nil, Failed for one without a code.
func CodeOf(err error) Code {
	if err == nil {
		return Done
	}
	if exit, ok := errors.AsType[*ExitError](err); ok {
		return exit.Code
	}
	return Failed
}
