// SPDX-License-Identifier: Apache-2.0

package exam_test

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil/internal/doctor"
	"github.com/vigil-monitor/vigil/internal/platform"
	"github.com/vigil-monitor/vigil/internal/platform/exam"
)

// TestPortsOfSeveralProcesses: what another process of the platform listens on is no port that is taken, and what somebody else
// does is one.
func TestPortsOfSeveralProcesses(t *testing.T) {
	t.Parallel()
	serve := func(path, body string) platform.HostPort {
		mux := http.NewServeMux()
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(body)) })
		server := httptest.NewServer(mux)
		t.Cleanup(server.Close)
		return platform.HostPort(server.Listener.Addr().String())
	}
	look := func(s platform.Settings, part string) []doctor.Finding {
		s.DatabaseURL, s.TemporalAddress = "postgres://localhost/vigil", "localhost:7233"
		probes := exam.Probes(exam.Exam{Settings: s, Now: time.Now})
		i := slices.IndexFunc(probes, func(p doctor.Probe) bool { return p.Part == part })
		return probes[i].Look(t.Context())
	}
	api, figures := serve("/health", "{}"), serve("/metrics", "# TYPE vigil_turns_total counter\nvigil_turns_total 1\n")
	other := serve("/metrics", "# TYPE node_load1 gauge\nnode_load1 1\n")
	for name, test := range map[string]struct {
		settings platform.Settings
		part     string
		state    doctor.State
		message  string
	}{
		"Ours": {
			platform.Settings{Listen: api, MetricsListen: figures},
			"ports", doctor.OK,
			string(api) + " serves the API, " + string(figures) + " serves the metrics",
		},
		"MetricsOfAnother": {
			platform.Settings{Listen: api, MetricsListen: other}, "ports", doctor.Fail, "the metrics cannot listen on " + string(other),
		},
		"APIOfAnother": {
			platform.Settings{Listen: other, MetricsListen: figures}, "ports", doctor.Fail, "the API cannot listen on " + string(other),
		},
		"MetricsAreServed": {
			platform.Settings{Listen: api, MetricsListen: figures}, "metrics", doctor.OK, "http://" + string(figures) + "/metrics",
		},
		"MetricsWillBe": {
			platform.Settings{Listen: api, MetricsListen: other}, "metrics", doctor.OK, "/metrics once the platform runs",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found := look(test.settings, test.part)
			if len(found) == 0 || found[0].State != test.state || !strings.Contains(found[0].Message, test.message) {
				t.Errorf("%+v, want %v: %s", found, test.state, test.message)
			}
			if test.message == "http://"+string(figures)+"/metrics" && strings.Contains(found[0].Message, "once") {
				t.Errorf("%s, which answers already", found[0].Message)
			}
		})
	}
}
