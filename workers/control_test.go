package workers_test

import (
	"log/slog"
	"testing"
	_ "unsafe" // for go:linkname

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"

	"vigil/activities"
	"vigil/workers"
)

// cacheSize is the size that the SDK's next workflow cache gets. The SDK does not
// export it.
//
//go:linkname cacheSize go.temporal.io/sdk/internal.desiredWorkflowCacheSize
var cacheSize int //nolint:gochecknoglobals // the SDK's own

// TestControlSizesTheCache proves that the workflow cache has room for the loops of a
// process even when the control worker is created first.
func TestControlSizesTheCache(t *testing.T) { //nolint:paralleltest // looks at a variable of the whole process
	c, err := client.NewLazyClient(
		client.Options{HostPort: "127.0.0.1:1", Namespace: "vigil", Logger: log.NewStructuredLogger(slog.New(slog.DiscardHandler))},
	)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	workers.NewControl(c, workers.ControlOptions{Name: "first", Incidents: &activities.Incidents{}, Deliveries: &activities.Deliveries{}})
	if cacheSize != 100_000 {
		t.Errorf("the cache has room for %d workflows, want 100,000", cacheSize)
	}
}
