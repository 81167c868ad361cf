// SPDX-License-Identifier: Apache-2.0

package reload_test

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/vigil-monitor/vigil/internal/reload"
)

// TestValue holds that what is there now is used, that what was there last is used while it cannot be read, and that each such
// time has one warning.
func TestValue(t *testing.T) {
	t.Parallel()
	var said bytes.Buffer
	content, failed := "first", error(nil)
	log := slog.New(slog.NewTextHandler(&said, nil))
	v, err := reload.New("the file", log, func() (string, error) { return content, failed })
	if err != nil {
		t.Fatal(err)
	}
	for i, step := range []struct {
		content  string
		err      error
		want     string
		warnings int // up to now
	}{
		{"first", nil, "first", 0},
		{"second", nil, "second", 0},
		{"", errors.New("it is half a file"), "second", 1},
		{"", errors.New("it is half a file"), "second", 1},
		{"third", nil, "third", 1},
		{"", errors.New("it is gone"), "third", 2},
	} {
		content, failed = step.content, step.err
		if got := v.Get(t.Context()); got != step.want {
			t.Errorf("step %d: %q, want %q", i, got, step.want)
		}
		if got := strings.Count(said.String(), `files="the file"`); got != step.warnings {
			t.Errorf("step %d: %d warnings, want %d: %s", i, got, step.warnings, &said)
		}
	}
	if !strings.Contains(said.String(), "it is gone") {
		t.Errorf("the warning does not say why: %s", &said)
	}
	if _, err := reload.New("the file", log, func() (string, error) { return "", failed }); !errors.Is(err, failed) {
		t.Errorf("%v of a file that is not there at the start", err)
	}
}
