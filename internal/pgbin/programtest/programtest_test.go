// SPDX-License-Identifier: Apache-2.0

package programtest_test

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/vigil-monitor/vigil/internal/pgbin/programtest"
)

// TestWrite runs programs as soon as they are written, while others of the same process
// write and run theirs: with os.WriteFile alone some of them are "text file busy".
func TestWrite(t *testing.T) {
	t.Parallel()
	for worker := range 8 {
		t.Run(fmt.Sprint(worker), func(t *testing.T) {
			t.Parallel()
			for i := range 40 {
				path := filepath.Join(t.TempDir(), "bin", "program")
				programtest.Write(t, path, fmt.Appendf(nil, "#!/bin/sh\necho %d\n", i))
				out, err := exec.CommandContext(t.Context(), path).CombinedOutput()
				if want := fmt.Sprintln(i); err != nil || string(out) != want {
					t.Errorf("prints %q, want %q (%v)", out, want, err)
				}
			}
		})
	}
}
