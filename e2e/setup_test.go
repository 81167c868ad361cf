// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/vigil-monitor/vigil/internal/dispatch"
	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
)

// TestTemporalSetup creates a namespace, repeats the command, and changes the
// retention.
func TestTemporalSetup(t *testing.T) {
	timingtest.Parallel(t)
	address := freeAddress(t)
	start(t, []string{
		"DATABASE_URL=" + database(t), "VIGIL_TEMPORAL_LISTEN=" + address,
		"VIGIL_UI_LISTEN=127.0.0.1:0", "VIGIL_DATA_DIR=" + dataDir(t),
	}, "temporal", "--json")
	setup := func(retention string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), binary, "temporal", "setup")
		cmd.Env = append(os.Environ(), "TEMPORAL_ADDRESS="+address, "TEMPORAL_NAMESPACE=other", "VIGIL_TEMPORAL_RETENTION="+retention)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return string(out)
	}
	for _, step := range []struct {
		retention string
		want      string
	}{{"48h", "namespace created"}, {"48h", "nothing to do"}, {"96h", "retention set to 96h"}} {
		if said := setup(step.retention); !strings.Contains(said, step.want) {
			t.Errorf("it said %q, want %q", said, step.want)
		}
	}
	c := dialTemporal(t, address, "other")
	defer c.Close()
	described, err := c.WorkflowService().DescribeNamespace(t.Context(), &workflowservice.DescribeNamespaceRequest{Namespace: "other"})
	if err != nil {
		t.Fatal(err)
	}
	if got := described.GetConfig().GetWorkflowExecutionRetentionTtl().AsDuration(); got != 96*time.Hour {
		t.Errorf("retention %v", got)
	}
	listed, err := c.OperatorService().ListSearchAttributes(t.Context(), &operatorservice.ListSearchAttributesRequest{Namespace: "other"})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range dispatch.SearchAttributes() {
		if listed.GetCustomAttributes()[name] != enumspb.INDEXED_VALUE_TYPE_KEYWORD {
			t.Errorf("no search attribute %s", name)
		}
	}
}
