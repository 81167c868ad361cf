package e2e_test

import (
	"slices"
	"testing"
	"time"

	"vigil/egress"
)

// TestWorkerThatDoesNotKnowTheAPI: a worker of its own may run where the API does
// not, so that the API's default address tells it nothing. Unless it is told that
// the API is on this machine alone, private targets are closed.
func TestWorkerThatDoesNotKnowTheAPI(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.seed(newTarget(t).URL, 1, 2*time.Second)
	eventually(t, "workers that were told probe a private target", func() bool {
		return s.number("SELECT count(*) FROM results WHERE success") > 0
	})
	for _, worker := range s.workers {
		worker.stop()
	}
	launch(t, append(slices.Clone(s.env), "VIGIL_LISTEN="), "worker", "--region", stageRegion)
	eventually(t, "one that was not told refuses it and names the setting", func() bool {
		return s.number("SELECT count(*) FROM results WHERE NOT success AND error_message LIKE '%' || $1", egress.Setting) > 0
	})
}
