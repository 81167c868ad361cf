package api_test

import (
	"net/http"
	"strings"
	"testing"
)

// TestARegionWithoutAWorkerIsSaid: a check there is accepted, and not probed until a worker runs.
func TestARegionWithoutAWorkerIsSaid(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.signup(t)
	warnings := func(check map[string]any) string {
		list, _ := check["warnings"].([]any)
		var out []string
		for _, one := range list {
			said, _ := one.(string)
			out = append(out, said)
		}
		return strings.Join(out, "\n")
	}
	made := a.check(t, with("regions", []string{"na-east-ewr"}))
	if said := warnings(made); !strings.Contains(said, "na-east-ewr has no worker") {
		t.Errorf("created in a region without a worker: warnings %q", said)
	}
	path := "/v1/checks/" + text(made, "id")
	if read := a.want(t, http.StatusOK, http.MethodGet, path, nil).data(t); read["warnings"] != nil {
		t.Errorf("a check that is read has warnings: %v", read["warnings"])
	}
	if off := a.check(t, with("enabled", false)); warnings(off) != "" {
		t.Errorf("a disabled check has warnings: %q", warnings(off))
	}
	b.works(t, "w1", "na-east-ewr")
	// What was answered may be sent back.
	if after := a.want(t, http.StatusOK, http.MethodPut, path, made).data(t); warnings(after) != "" {
		t.Errorf("with a worker: warnings %q", warnings(after))
	}
}
