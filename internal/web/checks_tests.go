// SPDX-License-Identifier: Apache-2.0

package web

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"
)

// Several checks are tested by a page that asks for one step after the other, so that it shows how far it
// is. What is left and what failed stand in its form: the server keeps nothing of it.
const (
	testsAStep   = 8
	testsAtOnce  = 4
	testsTimeout = 45 * time.Second // of a step
)

// testsBody is what the page shows.
type testsBody struct {
	Total, Done, Passed int
	Failed              []testedCheck
	Left                []string // ids
	Back                string
}

// testedCheck is a check that failed, or could not be tested.
type testedCheck struct{ ID, Name, Why string }

// Text is the check as the form keeps it.
func (c testedCheck) Text() string { return c.ID + "|" + c.Name + "|" + c.Why }

// Href is the page of the check.
func (c testedCheck) Href() string { return "/app/checks/" + c.ID }

func (s *Server) testRoutes(on *routes) {
	on.page("POST /app/checks/tests", s.goOnTesting)
}

// beginTests shows the page of a test of the selected checks. None is tested yet.
func (r *request) beginTests(posted url.Values, back string) error {
	selected := url.Values{}
	for name, values := range posted {
		selected[name] = values
	}
	selected.Set("action", "disable") // a dry run: it lists the checks, of all those that are enabled
	result, err := r.changeChecks(selected, true)
	if err != nil {
		return err
	}
	b := &testsBody{Total: len(result.Checks), Back: back}
	for _, check := range result.Checks {
		b.Left = append(b.Left, check.Id.String())
	}
	return r.showTests(b)
}

func (r *request) showTests(b *testsBody) error {
	return r.render(http.StatusOK, "tests", page{Title: "Test of " + counted(int64(b.Total), "check"), Nav: navChecks, Body: b})
}

// readTests reads the form of a test that goes on. What it says of checks is shown to its user alone.
func (r *request) readTests() (*testsBody, error) {
	posted, err := r.posted()
	if err != nil {
		return nil, err
	}
	b := &testsBody{Left: posted["id"], Back: ownPath(posted.Get("back"))}
	for _, id := range b.Left {
		if uuid.Validate(id) != nil {
			return nil, errNoPage()
		}
	}
	for _, text := range posted["failed"] {
		parts := strings.SplitN(text, "|", 3)
		if len(parts) != 3 || uuid.Validate(parts[0]) != nil {
			return nil, errNoPage()
		}
		b.Failed = append(b.Failed, testedCheck{parts[0], parts[1], parts[2]})
	}
	passed, err := strconv.Atoi(posted.Get("passed"))
	if err != nil || passed < 0 || passed > maxFieldValues {
		return nil, errNoPage()
	}
	b.Passed, b.Done = passed, passed+len(b.Failed)
	b.Total = b.Done + len(b.Left)
	return b, nil
}

// goOnTesting tests the next few checks.
func (s *Server) goOnTesting(r *request) error {
	b, err := r.readTests()
	if err != nil {
		return err
	}
	step := b.Left[:min(testsAStep, len(b.Left))]
	failed, err := r.testStep(step)
	if err != nil {
		return err
	}
	b.Left, b.Failed = b.Left[len(step):], append(b.Failed, failed...)
	b.Done, b.Passed = b.Done+len(step), b.Passed+len(step)-len(failed)
	return r.showTests(b)
}

// testStep runs checks now, a few at a time, and returns those that did not pass, with the reason. When
// the user may not test, the error is the API's.
func (r *request) testStep(ids []string) ([]testedCheck, error) {
	found, err := r.checksByID(ids)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(r.Context(), testsTimeout)
	defer cancel()
	var mu sync.Mutex
	var failed []testedCheck
	var work errgroup.Group
	work.SetLimit(testsAtOnce)
	for _, id := range ids {
		name := "A check that was deleted"
		if check := found[id]; check != nil {
			name = check.Name
		}
		work.Go(func() error {
			why, err := r.testOne(ctx, id)
			if err != nil || why == "" {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			failed = append(failed, testedCheck{ID: id, Name: strings.ReplaceAll(name, "|", "/"), Why: why})
			return nil
		})
	}
	return failed, work.Wait()
}

// testOne runs a check and returns why it did not pass, empty when it did.
func (r *request) testOne(ctx context.Context, id string) (why string, err error) {
	done, err := r.api.TestCheckWithResponse(ctx, uuid.MustParse(id), nil)
	if known, ok := errors.AsType[*APIError](err); ok && known.Status != http.StatusForbidden && known.Status != http.StatusUnauthorized {
		return "not tested: " + known.Message, nil
	}
	if err != nil || done.JSON200.Data.Success {
		return "", err
	}
	if why = orNone(done.JSON200.Data.ErrorMessage); why == "" {
		why = "it failed"
	}
	return why, nil
}
