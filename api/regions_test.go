package api_test

import (
	"net/http"
	"testing"
)

// The examples of the document are a region as it is returned.
func TestRegionExamples(t *testing.T) {
	t.Parallel()
	b := setup(t)
	document := b.want(t, http.StatusOK, http.MethodGet, "/openapi.json", nil).body
	var members map[string]any
	for _, step := range []string{"components", "schemas", "Region", "properties"} {
		if step == "components" {
			members = document
		}
		next, ok := members[step].(map[string]any)
		if !ok {
			t.Fatalf("the document has no %s", step)
		}
		members = next
	}
	newark := b.want(t, http.StatusOK, http.MethodGet, "/v1/regions?limit=1", nil).rows(t)[0]
	compared := 0
	for name, member := range members {
		examples, _ := member.(map[string]any)["examples"].([]any)
		if len(examples) == 0 {
			continue
		}
		compared++
		if newark[name] != examples[0] {
			t.Errorf("%s is %v, and %v in the document", name, newark[name], examples[0])
		}
	}
	if compared < 8 {
		t.Errorf("only %d examples were found", compared)
	}
}
