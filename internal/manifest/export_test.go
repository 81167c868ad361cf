// SPDX-License-Identifier: Apache-2.0

package manifest_test

import (
	"encoding/json"
	"testing"

	"github.com/vigil-monitor/vigil/internal/manifest"
)

// TestExportOfRetry writes what a file must have for the same check, and nothing else.
func TestExportOfRetry(t *testing.T) {
	t.Parallel()
	for retry, want := range map[string]string{
		`{"attempts":0,"delay_seconds":0,"on":"any","unsafe":false}`:     "",
		`{"attempts":2,"delay_seconds":0,"on":"any","unsafe":false}`:     `"retry":{"attempts":2},`,
		`{"attempts":1,"delay_seconds":5,"on":"network","unsafe":false}`: `"retry":{"attempts":1,"delay":"5s","on":"network"},`,
		`{"attempts":0,"delay_seconds":30,"on":"any","unsafe":true}`:     `"retry":{"delay":"30s","unsafe":true},`,
	} {
		check := json.RawMessage(`{"id":"0b5c1f5e-0000-4000-8000-000000000000","name":"Home","type":"tcp","interval_seconds":60,
			"config":{"port":80},"retry":` + retry + `}`)
		objects := manifest.Objects{Checks: []json.RawMessage{check}}
		made, err := manifest.NewExport(objects, manifest.ExportOptions{Project: "shop", All: true})
		if err != nil {
			t.Fatal(err)
		}
		const before, after = `{"home":{"name":"Home","type":"tcp","interval":"1m",`, `"config":{"port":80}}}`
		if got := string(made.Sections[0].JSON); got != before+want+after {
			t.Errorf("%s is written as %s", retry, got)
		}
	}
}
