// SPDX-License-Identifier: Apache-2.0

package activities

import (
	"go.temporal.io/sdk/temporal"

	"github.com/vigil-monitor/vigil"
)

// failure converts an error for a workflow. An error that every attempt would return
// becomes a non-retryable application error with the error's code as its type; any other
// error is retried by the activity's retry policy.
func failure(err error) error {
	switch code := vigil.ErrorCode(err); code {
	case vigil.CodeNotFound, vigil.CodeConflict, vigil.CodeInvalid:
		return temporal.NewNonRetryableApplicationError(vigil.ErrorMessage(err), string(code), nil)
	default:
		return err
	}
}
