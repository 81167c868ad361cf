// SPDX-License-Identifier: Apache-2.0

package vigil_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/vigil-monitor/vigil"
)

func TestError(t *testing.T) {
	t.Parallel()

	t.Run("CodeAndSentenceAreFoundThroughWrapping", func(t *testing.T) {
		t.Parallel()
		err := fmt.Errorf("read check: %w", vigil.NotFound("check"))
		if got := vigil.ErrorCode(err); got != vigil.CodeNotFound {
			t.Errorf("code is %q", got)
		}
		if got := vigil.ErrorMessage(err); got != "check not found" {
			t.Errorf("message is %q", got)
		}
	})

	t.Run("OtherErrorsAreInternalAndSayNothing", func(t *testing.T) {
		t.Parallel()
		err := errors.New("password=hunter2 was refused by 10.0.0.1")
		if got := vigil.ErrorCode(err); got != vigil.CodeInternal {
			t.Errorf("code is %q", got)
		}
		if got := vigil.ErrorMessage(err); strings.Contains(got, "hunter2") || strings.Contains(got, "10.0.0.1") {
			t.Errorf("the message reveals internals: %q", got)
		}
	})

	t.Run("NoErrorHasNoCode", func(t *testing.T) {
		t.Parallel()
		if got := vigil.ErrorCode(nil); got != "" {
			t.Errorf("code of nil is %q", got)
		}
	})

	t.Run("CauseIsForTheLogOnly", func(t *testing.T) {
		t.Parallel()
		err := &vigil.Error{Code: vigil.CodeUnavailable, Message: "No worker is there.", Cause: io.ErrUnexpectedEOF}
		if !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Error("the cause is not in the chain")
		}
		if got := err.Error(); got != "No worker is there.: unexpected EOF" {
			t.Errorf("log sees %q", got)
		}
		if got := vigil.ErrorMessage(err); got != "No worker is there." {
			t.Errorf("caller sees %q", got)
		}
	})

	t.Run("InvalidCutsLongNames", func(t *testing.T) {
		t.Parallel()
		long := strings.Repeat("ö", 250_000)
		for given, want := range map[string]string{
			"config.url":               "config.url",
			strings.Repeat("x", 64):    strings.Repeat("x", 64),
			strings.Repeat("x", 65):    strings.Repeat("x", 64) + "...",
			"config." + long:           "config." + strings.Repeat("ö", 32) + "...",
			long + "." + long:          strings.Repeat("ö", 32) + "...",
			strings.Repeat("ab.", 200): strings.Repeat("ab.", 85) + "a...",
		} {
			err := vigil.Invalid(given, "is not known")
			if got := err.Details["member"]; got != want || err.Message != want+": is not known" {
				t.Errorf("a name of %d bytes became %q, message %q", len(given), got, vigil.Truncate(err.Message, 400))
			}
		}
	})

	t.Run("InvalidNamesTheMemberTwice", func(t *testing.T) {
		t.Parallel()
		err := vigil.Invalid("config.port", "must be 1 to %d", 65535)
		if err.Code != vigil.CodeInvalid || err.Message != "config.port: must be 1 to 65535" {
			t.Errorf("got %q with code %q", err.Message, err.Code)
		}
		if got := err.Details["member"]; got != "config.port" {
			t.Errorf("details name %v", got)
		}
	})
}
