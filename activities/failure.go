package activities

import (
	"go.temporal.io/sdk/temporal"

	"vigil"
)

// failure turns an error into one that a workflow can act on. What would be the
// same on every attempt is not tried again, and carries its code as its type;
// anything else is retried by the activity's policy.
func failure(err error) error {
	switch code := vigil.ErrorCode(err); code {
	case vigil.CodeNotFound, vigil.CodeConflict, vigil.CodeInvalid:
		return temporal.NewNonRetryableApplicationError(vigil.ErrorMessage(err), string(code), nil)
	default:
		return err
	}
}
