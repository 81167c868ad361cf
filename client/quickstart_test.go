// SPDX-License-Identifier: Apache-2.0

package client_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	openapi_types "github.com/oapi-codegen/runtime/types"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/api"
	"github.com/vigil-monitor/vigil/api/apitest"
	"github.com/vigil-monitor/vigil/client"
	"github.com/vigil-monitor/vigil/internal/egress"
	"github.com/vigil-monitor/vigil/internal/notify"
	"github.com/vigil-monitor/vigil/internal/probe"
	"github.com/vigil-monitor/vigil/storage"
	"github.com/vigil-monitor/vigil/storage/storagetest"
)

// prober runs each check once, as soon as its loop is asked for.
type prober struct {
	store  *storage.Store
	probes *probe.Registry
	writer *storage.ResultWriter
}

func (p *prober) Apply(ctx context.Context, loop vigil.Loop) error {
	check, err := p.store.Check(ctx, loop.OrgID, loop.CheckID)
	if err != nil {
		return err
	}
	result, err := p.Test(ctx, check, loop.Region, false)
	if err != nil {
		return err
	}
	_, err = p.writer.Write(ctx, vigil.ResultRow{Result: result, Worker: "test", Deadline: time.Minute})
	return err
}

func (p *prober) Stop(context.Context, uuid.UUID, string, int64) error { return nil }

func (p *prober) State(context.Context, uuid.UUID, string) (vigil.LoopState, error) {
	return vigil.LoopState{}, vigil.Errorf(vigil.CodeUnavailable, "There is no loop.")
}

func (p *prober) Test(ctx context.Context, check vigil.Check, region string, _ bool) (vigil.Result, error) {
	ready, err := p.probes.Parse(check.Type, check.Config, check.Interval)
	if err != nil {
		return vigil.Result{}, err
	}
	slot := check.CreatedAt
	return vigil.Result{
		ID: vigil.ResultID(check.ID, region, slot), CheckID: check.ID, Region: region, Slot: slot, Time: slot, Observation: ready.Run(ctx),
	}, nil
}

// serve starts an API and returns its address.
func serve(t *testing.T) string {
	t.Helper()
	store := storagetest.New(t)
	writer := storage.NewResultWriter(store, storage.WriterOptions{Delay: time.Millisecond})
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = writer.Run(ctx) })
	guard := egress.New(egress.Policy{AllowPrivate: true})
	registry := probe.NewRegistry(guard)
	server, err := api.New(api.Deps{
		Stores:   apitest.Stores(store),
		Loops:    &prober{store: store, probes: registry, writer: writer},
		Probes:   registry,
		Channels: notify.NewRegistry(guard),
		Config:   api.Config{SigningKey: bytes.Repeat([]byte{1}, 32), EnterpriseMinInterval: time.Second, TaskDeadline: 30 * time.Second},
		Now:      time.Now,
	})
	if err != nil {
		t.Fatal(err)
	}
	listener := httptest.NewServer(server)
	t.Cleanup(func() {
		listener.Close()
		server.Close()
		stop()
		running.Wait()
	})
	return listener.URL
}

// TestQuickStart does with the generated client what the quick start does with
// curl: sign up, create a check, look at its results.
func TestQuickStart(t *testing.T) {
	t.Parallel()
	target := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }))
	t.Cleanup(target.Close)
	ctx := t.Context()
	address := serve(t)

	anonymous, err := client.NewClientWithResponses(address)
	if err != nil {
		t.Fatal(err)
	}
	signup, err := anonymous.QuickSignupWithResponse(ctx, client.QuickSignupRequest{Email: openapi_types.Email("ada@example.com")})
	if err != nil || signup.JSON201 == nil {
		t.Fatalf("sign up: %v %s", err, signup.Body)
	}
	key := signup.JSON201.Data.ApiKey
	vigilClient, err := client.NewClientWithResponses(address, client.WithAPIKey(key))
	if err != nil {
		t.Fatal(err)
	}

	var body client.CheckCreate
	if err := body.FromCheckHttp(client.CheckHttp{Type: client.CheckHttpTypeHttp, Config: client.HTTPConfig{Url: target.URL}}); err != nil {
		t.Fatal(err)
	}
	body.Name, body.IntervalSeconds, body.Type = "Home page", new(int64(60)), client.CheckCreateTypeHttp
	body.Config = map[string]any{"url": target.URL}
	created, err := vigilClient.CreateCheckWithResponse(ctx, nil, body)
	if err != nil || created.JSON201 == nil {
		t.Fatalf("create: %v %s", err, created.Body)
	}
	check := created.JSON201.Data
	if check.Name != "Home page" || check.HealthStatus != client.CheckHealthStatusUnknown || check.Regions[0] != "na-east-ewr" {
		t.Errorf("check %+v", check)
	}
	if of, err := check.AsCheckHttp(); err != nil || of.Config.Url != target.URL {
		t.Errorf("config %+v (%v)", of, err)
	}

	deadline := time.NewTimer(30 * time.Second)
	defer deadline.Stop()
	for tick := time.NewTicker(10 * time.Millisecond); ; {
		results, err := vigilClient.ListResultsWithResponse(ctx, check.Id, nil)
		if err != nil || results.JSON200 == nil {
			t.Fatalf("results: %v %s", err, results.Body)
		}
		if rows := results.JSON200.Data; len(rows) > 0 {
			tick.Stop()
			if !rows[0].Success || *rows[0].StatusCode != http.StatusOK {
				shown, _ := json.Marshal(rows[0])
				t.Errorf("result %s", shown)
			}
			return
		}
		select {
		case <-tick.C:
		case <-deadline.C:
			t.Fatal("no result within 30 s")
		}
	}
}
