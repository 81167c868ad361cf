// SPDX-License-Identifier: Apache-2.0

package activities_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/vigil-monitor/vigil"
)

// TestATestByHandIsBounded: what a target sends is bounded in the result of a test that is
// not stored as in one that is.
func TestATestByHandIsBounded(t *testing.T) {
	t.Parallel()
	for name, unavailable := range map[string]bool{"ATarget": false, "AWorkerThatCannotProbe": true} {
		for _, dry := range []bool{true, false} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					w := newWatchFixture(t)
					def := w.define(func(*vigil.Definition) {})
					w.observe = func(context.Context) vigil.Observation {
						return vigil.Observation{
							Error: strings.Repeat("x\x00", 1<<20), Unavailable: unavailable,
							Metadata: map[string]any{"records": strings.Repeat("y", 1<<20), "nul": "a\x00b"},
							Evidence: &vigil.Evidence{StatusLine: strings.Repeat("z", 1<<20)},
						}
					}
					answer, err := w.test(def, dry)
					if err != nil {
						t.Fatal(err)
					}
					metadata, err := json.Marshal(answer.Metadata)
					if err != nil || len(metadata) > vigil.MaxMetadata || answer.Metadata[vigil.MetadataTruncated] != true ||
						answer.Metadata["nul"] != "ab" {
						t.Errorf("dry %v: %d bytes of metadata, %v", dry, len(metadata), err)
					}
					if len(answer.Error) > vigil.MaxErrorLength || strings.Contains(answer.Error, "\x00") {
						t.Errorf("dry %v: an error of %d bytes", dry, len(answer.Error))
					}
					if dry && !unavailable && answer.Metadata["test"] != true {
						t.Errorf("it is not called a test: %v", answer.Metadata["test"])
					}
				})
			})
		}
	}
}
