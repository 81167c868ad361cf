// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"testing"

	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/proto"
)

// testByHand tests a check by hand whose target answers with a text, with and without a
// dry run.
func testByHand(t *testing.T, c client, text string) {
	t.Helper()
	target := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Alt-Svc", text)
		w.WriteHeader(http.StatusTeapot)
	}))
	t.Cleanup(target.Close)
	var made check
	c.into(&made, http.MethodPost, "/v1/checks", object{
		"name": "by hand", "type": "http", "interval_seconds": 3600, "regions": []string{clusterRegion}, "config": object{"url": target.URL},
	})
	for _, query := range []string{"", "?dry_run=true"} {
		a := c.do(http.MethodPost, "/v1/checks/"+made.ID+"/test"+query, nil)
		if a.Status/100 != 2 || !bytes.Contains(a.Data, []byte(text)) {
			t.Errorf("the test by hand%s answers %d without what the target sent: %s %s", query, a.Status, a.Data, a.Error)
		}
	}
}

// scanActivities fails the test for every activity without a workflow whose outcome
// contains the canary: tests by hand run as such.
func scanActivities(t *testing.T, address string) {
	t.Helper()
	c := dialTemporal(t, address, "vigil")
	defer c.Close()
	service := c.WorkflowService()
	every := &workflowservice.ListActivityExecutionsRequest{Namespace: "vigil", PageSize: 100}
	var listed *workflowservice.ListActivityExecutionsResponse
	// A list is that of visibility, which follows the executions.
	eventually(t, "both tests by hand are listed", func() bool {
		var err error
		if listed, err = service.ListActivityExecutions(t.Context(), every); err != nil {
			t.Fatal(err)
		}
		return len(listed.GetExecutions()) >= 2
	})
	for _, one := range listed.GetExecutions() {
		described, err := service.DescribeActivityExecution(t.Context(), &workflowservice.DescribeActivityExecutionRequest{
			Namespace: "vigil", ActivityId: one.GetActivityId(), RunId: one.GetRunId(), IncludeInput: true, IncludeOutcome: true,
		})
		if err != nil {
			t.Fatal(err)
		}
		raw, err := proto.Marshal(described)
		if err != nil {
			t.Fatal(err)
		}
		if described.GetOutcome() == nil || bytes.Contains(raw, []byte(canary)) {
			t.Errorf("%s: outcome %v", one.GetActivityId(), described.GetOutcome())
		}
	}
}
