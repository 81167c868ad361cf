// SPDX-License-Identifier: Apache-2.0

//go:build !slim

package standalone_test

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/grpc"

	"github.com/vigil-monitor/vigil/internal/standalone"
)

const queue = "region/eu-central-fra"

func TestTemporal(t *testing.T) { //nolint:paralleltest // goroutines are counted for the whole process
	data := openDir(t, t.TempDir())
	pg := startPostgres(t, data)
	log := &lines{}
	opts := options(pg, log)
	var err error
	if opts.Credentials, err = data.Credentials(time.Now()); err != nil {
		t.Fatal(err)
	}
	_, err = standalone.StartTemporal(t.Context(), opts)
	wantSentence(t, err, `no database "vigil_temporal"`, "DATABASE_URL")
	if err := standalone.EnsureDatabases(t.Context(), opts.DSN); err != nil {
		t.Fatal(err)
	}
	before := runtime.NumGoroutine()

	began := time.Now()
	first, err := standalone.StartTemporal(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("first start %v, %d goroutines more", time.Since(began), runtime.NumGoroutine()-before)
	namespace := checkNamespace(t, first.Address(), 72*time.Hour, opts)
	checkUI(t, first.UIURL())
	checkUIHosts(t, first.UIURL())
	c := dial(t, first.Address(), opts.Credentials)
	eager := runTurn(t, c, queue, "first", worker.Options{})
	queued := runTurn(t, c, queue, "queued", worker.Options{DisableEagerActivities: true})
	if eager != queued-1 {
		t.Errorf("%d state transitions with eager activities and %d without, want one fewer", eager, queued)
	}
	checkLocalCalls(t, first)
	checkPorts(t, data, first)
	checkStandaloneActivity(t, c, queue, worker.Options{})
	checkVersioned(t, c)
	checkRacingStarts(t, c)
	c.Close()
	stopTemporal(t, first)
	if reachable(t, first.Address(), namespace, opts.Credentials) {
		t.Errorf("%s still answers after the stop", first.Address())
	}

	opts.Retention = 96 * time.Hour
	opts.SearchAttributes = append(opts.SearchAttributes, "VigilLater")
	began = time.Now()
	second, err := standalone.StartTemporal(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("second start %v", time.Since(began))
	checkNamespace(t, second.Address(), 96*time.Hour, opts)
	c = dial(t, second.Address(), opts.Credentials)
	checkHistoryKept(t, c, "first")

	_, err = standalone.StartTemporal(t.Context(), options(pg, log))
	wantSentence(t, err, "another vigil", "vigil_temporal", "TEMPORAL_ADDRESS")

	if err := syscall.Kill(pg.PID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	awaitNamespace(t, c)
	runTurn(t, c, queue, "after-postgres-was-killed", worker.Options{})
	c.Close()
	stopTemporal(t, second)
	if left := runtime.NumGoroutine() - before; left > 300 {
		t.Errorf("%d goroutines more than before the first start", left)
	}
	if text := log.String(); strings.Contains(text, opts.DSN) {
		t.Error("the log holds the connection string")
	}
}

func TestTemporalPortInUse(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = taken.Close() })
	busy := taken.Addr().String()

	for name, test := range map[string]struct {
		opts    standalone.TemporalOptions
		setting string
		address string
	}{
		"OfTheFrontend": {standalone.TemporalOptions{Listen: busy, UIListen: "127.0.0.1:0"}, "VIGIL_TEMPORAL_LISTEN", busy},
		"OfTheUI":       {standalone.TemporalOptions{Listen: "127.0.0.1:0", UIListen: busy}, "VIGIL_UI_LISTEN", busy},
		"ThatIsNone":    {standalone.TemporalOptions{Listen: "127.0.0.1:none", UIListen: busy}, "VIGIL_TEMPORAL_LISTEN", "127.0.0.1:none"},
	} {
		t.Run(name+"IsNamedWithItsSetting", func(t *testing.T) {
			t.Parallel()
			_, err := standalone.StartTemporal(t.Context(), test.opts)
			wantSentence(t, err, test.address, test.setting)
		})
	}
}

func options(pg *standalone.Postgres, log io.Writer) standalone.TemporalOptions {
	return standalone.TemporalOptions{
		DSN:              pg.DSN("vigil"),
		Listen:           "127.0.0.1:0",
		UIListen:         "127.0.0.1:0",
		Namespace:        "vigil",
		Retention:        72 * time.Hour,
		SearchAttributes: []string{"VigilOrg", "VigilCheck", "VigilRegion", "VigilIncident", "VigilChannel", "VigilDelivery", "VigilCheckName"},
		UIHosts:          []string{"temporal.example.com"},
		Log:              slog.New(slog.NewTextHandler(log, nil)),
	}
}

func stopTemporal(t *testing.T, server *standalone.Temporal) {
	t.Helper()
	began := time.Now()
	if err := server.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	t.Logf("stop %v", time.Since(began))
	if err := server.Stop(t.Context()); err != nil {
		t.Errorf("a second stop: %v", err)
	}
	if err, failed := <-server.Failed(); failed {
		t.Errorf("the server failed: %v", err)
	}
}

// clientOptions are those of a client with the credentials of a server, nil for one without.
func clientOptions(address string, secure *standalone.Credentials) client.Options {
	options := client.Options{HostPort: address, Namespace: "vigil", Logger: slog.New(slog.DiscardHandler)}
	if secure != nil {
		options.ConnectionOptions.TLS = secure.Client()
	}
	return options
}

func dial(t *testing.T, address string, secure *standalone.Credentials) client.Client {
	t.Helper()
	c, err := client.DialContext(t.Context(), clientOptions(address, secure))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// checkLocalCalls holds that the services of a turn call each other in the process, and that
// a client with the server's option needs no network: at its address nothing listens.
func checkLocalCalls(t *testing.T, server *standalone.Temporal) {
	t.Helper()
	const history = "/temporal.server.api.historyservice.v1.HistoryService/"
	const matching = "/temporal.server.api.matchingservice.v1.MatchingService/"
	kept := server.LocalMethods()
	for _, name := range []string{
		history + "StartWorkflowExecution", history + "RecordWorkflowTaskStarted", history + "RespondWorkflowTaskCompleted",
		matching + "AddWorkflowTask", matching + "PollWorkflowTaskQueue",
	} {
		if !slices.Contains(kept, name) {
			t.Errorf("%s goes over the network; not so %v", name, kept)
		}
	}
	options := client.Options{HostPort: "127.0.0.1:1", Namespace: "vigil", Logger: slog.New(slog.DiscardHandler)}
	options.ConnectionOptions.DialOptions = []grpc.DialOption{server.DialOption()}
	c, err := client.NewLazyClient(options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	described, err := c.DescribeWorkflowExecution(t.Context(), "first", "")
	if err != nil || described.GetWorkflowExecutionInfo().GetExecution().GetWorkflowId() != "first" {
		t.Errorf("over the process: %v, %v", described, err)
	}
}

// checkNamespace returns the namespace's id, which no other server has.
func checkNamespace(t *testing.T, address string, retention time.Duration, opts standalone.TemporalOptions) (id string) {
	t.Helper()
	c := dial(t, address, opts.Credentials)
	described, err := c.WorkflowService().DescribeNamespace(t.Context(), &workflowservice.DescribeNamespaceRequest{Namespace: "vigil"})
	if err != nil {
		t.Fatal(err)
	}
	if got := described.GetConfig().GetWorkflowExecutionRetentionTtl().AsDuration(); got != retention {
		t.Errorf("retention %v, want %v", got, retention)
	}
	listed, err := c.OperatorService().ListSearchAttributes(t.Context(), &operatorservice.ListSearchAttributesRequest{Namespace: "vigil"})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range opts.SearchAttributes {
		if got := listed.GetCustomAttributes()[name]; got != enums.INDEXED_VALUE_TYPE_KEYWORD {
			t.Errorf("search attribute %s has type %v, want Keyword", name, got)
		}
	}
	return described.GetNamespaceInfo().GetId()
}

func checkUI(t *testing.T, url string) {
	t.Helper()
	for path, want := range map[string]string{
		"/":                                    "<!doctype html>",
		"/healthz":                             "",
		"/api/v1/settings":                     `"DefaultNamespace":"vigil"`,
		"/api/v1/namespaces/vigil":             `"name": "vigil"`,
		"/api/v1/namespaces/vigil/workflows":   "{",
		"/api/v1/namespaces/no-such-namespace": "not found",
	} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if err != nil || response.StatusCode >= 500 || !strings.Contains(string(body), want) {
			t.Errorf("GET %s: %d %.200s (%v), want it to hold %q", path, response.StatusCode, body, err, want)
		}
	}
}

// awaitNamespace asks for the namespace until the server can read it again. A worker asks once, for
// 10 s, when it starts.
func awaitNamespace(t *testing.T, c client.Client) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	for {
		_, err := c.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: "vigil"})
		if err == nil {
			return
		}
		if ctx.Err() != nil {
			t.Fatalf("the namespace cannot be read after the kill: %v", err)
		}
	}
}

// runTurn runs a workflow with one activity and a search attribute, and returns
// how many state transitions it cost.
func runTurn(t *testing.T, c client.Client, queue, id string, opts worker.Options) int64 {
	t.Helper()
	w := worker.New(c, queue, opts)
	w.RegisterWorkflowWithOptions(turn, workflow.RegisterOptions{Name: "turn"})
	w.RegisterActivityWithOptions(func(context.Context) error { return nil }, activity.RegisterOptions{Name: "probe"})
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	run, err := c.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID: id, TaskQueue: queue,
		TypedSearchAttributes: temporal.NewSearchAttributes(temporal.NewSearchAttributeKeyKeyword("VigilCheck").ValueSet(id)),
	}, "turn")
	if err != nil {
		t.Fatal(err)
	}
	if err := run.Get(ctx, nil); err != nil {
		t.Fatal(err)
	}
	described, err := c.DescribeWorkflowExecution(ctx, id, "")
	if err != nil {
		t.Fatal(err)
	}
	return described.GetWorkflowExecutionInfo().GetStateTransitionCount()
}

func turn(ctx workflow.Context) error {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: 10 * time.Second})
	return workflow.ExecuteActivity(ctx, "probe").Get(ctx, nil)
}

// checkStandaloneActivity runs an activity that belongs to no workflow.
func checkStandaloneActivity(t *testing.T, c client.Client, queue string, opts worker.Options) {
	t.Helper()
	w := worker.New(c, queue, opts)
	w.RegisterActivityWithOptions(func(context.Context) (string, error) { return "probed", nil },
		activity.RegisterOptions{Name: "probe"})
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	handle, err := c.ExecuteActivity(ctx, client.StartActivityOptions{
		ID: "test-of-a-check/" + queue, TaskQueue: queue, StartToCloseTimeout: 5 * time.Second,
	}, "probe")
	if err != nil {
		t.Fatal(err)
	}
	var result string
	if err := handle.Get(ctx, &result); err != nil || result != "probed" {
		t.Errorf("the standalone activity returned %q (%v)", result, err)
	}
}

func checkHistoryKept(t *testing.T, c client.Client, id string) {
	t.Helper()
	described, err := c.DescribeWorkflowExecution(t.Context(), id, "")
	if err != nil {
		t.Fatal(err)
	}
	if got := described.GetWorkflowExecutionInfo().GetStatus(); got != enums.WORKFLOW_EXECUTION_STATUS_COMPLETED {
		t.Errorf("status %v after a restart, want completed", got)
	}
}

// reachable says whether the server that has the namespace answers: the port of
// one that has stopped may be another program's by now.
func reachable(t *testing.T, address, namespace string, secure *standalone.Credentials) bool {
	t.Helper()
	var dialer net.Dialer
	conn, err := dialer.DialContext(t.Context(), "tcp", address)
	if err != nil {
		return false
	}
	_ = conn.Close()
	c, err := client.NewLazyClient(clientOptions(address, secure))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	described, err := c.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: "vigil"})
	return err == nil && described.GetNamespaceInfo().GetId() == namespace
}

// lines is a log that can be read while it is written.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
