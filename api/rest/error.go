// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strconv"

	"github.com/vigil-monitor/vigil"
)

// ErrorView is the body of every answer that is not a success.
type ErrorView struct {
	Message   string         `json:"error" doc:"What went wrong and what to do about it, for a person." example:"check not found"`
	Code      vigil.Code     `json:"code" enum:"invalid_request,unauthorized,forbidden,plan_limit,not_found,method_not_allowed,conflict,precondition_failed,payload_too_large,rate_limited,internal,unavailable" doc:"What went wrong, for a program." example:"not_found"`
	Details   map[string]any `json:"details,omitempty" doc:"Members that depend on the code: the member that is wrong, the limit that was met."`
	RequestID string         `json:"request_id" doc:"The X-Request-Id of the answer." example:"b3b9f3d2c1a04e5f"`

	status int
	header http.Header
}

// Error returns the message.
func (e *ErrorView) Error() string { return e.Message }

// GetStatus is the HTTP status, for Huma.
func (e *ErrorView) GetStatus() int { return e.status }

// GetHeaders are headers of the answer, for Huma.
func (e *ErrorView) GetHeaders() http.Header { return e.header }

// statusOf returns the HTTP status that carries a code.
func statusOf(code vigil.Code) int {
	switch code {
	case vigil.CodeInvalid:
		return http.StatusBadRequest
	case vigil.CodeUnauthorized:
		return http.StatusUnauthorized
	case vigil.CodeForbidden, vigil.CodePlanLimit:
		return http.StatusForbidden
	case vigil.CodeNotFound:
		return http.StatusNotFound
	case vigil.CodeMethod:
		return http.StatusMethodNotAllowed
	case vigil.CodeConflict:
		return http.StatusConflict
	case vigil.CodePrecondition:
		return http.StatusPreconditionFailed
	case vigil.CodeTooLarge:
		return http.StatusRequestEntityTooLarge
	case vigil.CodeRateLimited:
		return http.StatusTooManyRequests
	case vigil.CodeUnavailable:
		return http.StatusServiceUnavailable
	case vigil.CodeInternal:
	}
	return http.StatusInternalServerError
}

// retryAfterSeconds is the Retry-After of an error that does not say how long to
// wait.
const retryAfterSeconds = 5

// ErrorOf turns any error into an answer to the request of ctx. Only what a
// vigil.Error says is shown; anything else is logged and answered as 500.
func ErrorOf(ctx context.Context, err error) *ErrorView {
	if body, ok := errors.AsType[*ErrorView](err); ok {
		return body
	}
	req := RequestOf(ctx)
	body := &ErrorView{Message: vigil.ErrorMessage(err), Code: vigil.ErrorCode(err), RequestID: req.ID}
	body.status = statusOf(body.Code)
	if known, ok := errors.AsType[*vigil.Error](err); ok {
		body.Details = known.Details
	}
	switch body.Code { //nolint:exhaustive // the other codes carry no header
	case vigil.CodeUnauthorized:
		body.header = http.Header{"Www-Authenticate": {`Bearer realm="vigil"`}}
	case vigil.CodeUnavailable, vigil.CodeRateLimited:
		body.header = retryAfter(cmp.Or(retrySeconds(body.Details), retryAfterSeconds))
	case vigil.CodeConflict:
		if seconds := retrySeconds(body.Details); seconds > 0 {
			body.header = retryAfter(seconds)
		}
	}
	if body.status >= http.StatusInternalServerError && ctx.Err() == nil {
		level := slog.LevelError
		if req.Tentative { // by a standby: the database is asked again
			level = slog.LevelInfo
		}
		req.Log().LogAttrs(ctx, level, "request failed", slog.Any("error", err), slog.String("code", string(body.Code)),
			slog.Bool("standby", req.Tentative))
	}
	return body
}

// WriteError answers with an error where no operation is involved.
func WriteError(ctx context.Context, w http.ResponseWriter, err error) {
	body := ErrorOf(ctx, err)
	for name, values := range body.header {
		w.Header()[name] = values
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(body.status)
	_ = encodeJSON(w, body) // the client may be gone
}

func retryAfter(seconds int) http.Header {
	return http.Header{"Retry-After": {strconv.Itoa(seconds)}}
}

// retrySeconds returns the seconds to wait that an error's details say, or 0.
func retrySeconds(details map[string]any) int {
	seconds, _ := details[vigil.RetryDetail].(int)
	return seconds
}
