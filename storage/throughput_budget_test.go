// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/internal/listing"
)

func TestThroughputBudget(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	org, _ := newOrg(t, s)
	const tenMiB = 10 << 20
	plan := account.Plan{Tier: account.TierFree, ThroughputBytesPerHour: 3 * 60 * tenMiB} // three measurements of 10 MiB a minute
	measuring := func(kind vigil.CheckType, config string) vigil.Check {
		c := draft(org.ID, newark)
		c.Type, c.Config, c.Interval = kind, json.RawMessage(config), time.Minute
		return c
	}
	create := func(c vigil.Check) (vigil.Check, error) {
		return s.CreateCheck(t.Context(), c, plan, account.Allowance{})
	}
	const steps = `{"steps":[{"name":"a","type":"throughput","config":{"url":"http://a.example/","max_bytes":10485760}},` +
		`{"name":"b","type":"http","config":{"url":"http://a.example/"}}]}`
	first, err := create(measuring(vigil.TypeThroughput, `{"url":"http://a.example/"}`)) // 10 MiB by default
	if err != nil {
		t.Fatal(err)
	}
	if _, err := create(measuring(vigil.TypeMultistep, steps)); err != nil {
		t.Fatal(err)
	}
	_, err = create(measuring(vigil.TypeThroughput, `{"url":"http://a.example/","max_bytes":10485761}`))
	wantCode(t, err, vigil.CodePlanLimit)
	small, err := create(measuring(vigil.TypeThroughput, `{"url":"http://a.example/","max_bytes":10485760}`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := create(draft(org.ID, newark)); err != nil {
		t.Errorf("a check that measures nothing: %v", err)
	}
	change := func(id vigil.Check, edit func(*vigil.Check)) error {
		_, err := s.UpdateCheck(t.Context(), org.ID, id.ID, plan, func(c *vigil.Check) error { edit(c); return nil })
		return err
	}
	wantCode(t, change(small, func(c *vigil.Check) { c.Interval = 30 * time.Second }), vigil.CodePlanLimit)
	wantCode(t, change(small, func(c *vigil.Check) { c.Regions = []string{newark, frankfurt} }), vigil.CodePlanLimit)
	wantCode(t, change(small, func(c *vigil.Check) { c.Retry.Attempts = 1 }), vigil.CodePlanLimit)
	if err := change(first, func(c *vigil.Check) { c.Enabled = false }); err != nil {
		t.Errorf("a check that stops: %v", err)
	}
	if err := change(small, func(c *vigil.Check) { c.Retry.Attempts = 1 }); err != nil {
		t.Errorf("a retry within what another one left: %v", err)
	}
	wantCode(t, change(first, func(c *vigil.Check) { c.Enabled = true }), vigil.CodePlanLimit)
	if err := change(small, func(c *vigil.Check) { c.Interval, c.Retry = 30*time.Second, vigil.Retry{} }); err != nil {
		t.Errorf("within what another one left: %v", err)
	}
	wantCode(t, change(first, func(c *vigil.Check) { c.Enabled = true }), vigil.CodePlanLimit)
	for _, dryRun := range []bool{true, false} {
		bulk := func(ids []uuid.UUID, edit func(*vigil.Check)) error {
			_, err := s.UpdateChecks(t.Context(), org.ID, listing.CheckFilter{IDs: ids}, plan, dryRun,
				func(c *vigil.Check) error { edit(c); return nil })
			return err
		}
		wantCode(t, bulk([]uuid.UUID{first.ID}, func(c *vigil.Check) { c.Enabled = true }), vigil.CodePlanLimit)
		wantCode(t, bulk([]uuid.UUID{small.ID}, func(c *vigil.Check) { c.Retry.Attempts = 1 }), vigil.CodePlanLimit)
		if err := bulk([]uuid.UUID{first.ID, small.ID}, func(c *vigil.Check) { c.Enabled = c.ID == first.ID }); err != nil {
			t.Errorf("one takes what the other one leaves: %v", err)
		}
		if err := bulk([]uuid.UUID{first.ID, small.ID}, func(c *vigil.Check) { c.Enabled = c.ID == small.ID }); err != nil {
			t.Errorf("and back: %v", err)
		}
	}
	other, _ := newOrg(t, s)
	free := measuring(vigil.TypeThroughput, `{"url":"http://a.example/"}`)
	free.OrgID = other.ID
	if _, err := create(free); err != nil {
		t.Errorf("another organization: %v", err)
	}
	plan.ThroughputBytesPerHour = account.Unlimited
	if err := change(first, func(c *vigil.Check) { c.Enabled = true }); err != nil {
		t.Errorf("without a limit: %v", err)
	}
}
