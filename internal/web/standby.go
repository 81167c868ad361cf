// SPDX-License-Identifier: Apache-2.0

package web

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vigil-monitor/vigil/client"
)

// missingHeader is the header of answers of the API that may lack the results of some regions, whose keys are its value.
const missingHeader = "Vigil-Missing-Results"

// asOfHeader is the header of answers of the API that are read from a standby while the database is away.
const asOfHeader = "Vigil-As-Of"

// answersKey is the key of what a page has learned of the answers that it is made from.
type answersKey struct{}

// answers is what a page has learned of the answers that it is made from.
type answers struct {
	asOf atomic.Pointer[string] // nil: all have what was written before

	mu      sync.Mutex
	missing []string // the regions of which one lacks results
}

// lacks notes of which regions an answer lacks results.
func (a *answers) lacks(regions string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for region := range strings.SplitSeq(regions, ", ") {
		if !slices.Contains(a.missing, region) {
			a.missing = append(a.missing, region)
		}
	}
}

// lacking returns the keys of those regions, sorted.
func (a *answers) lacking() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Sorted(slices.Values(a.missing))
}

// withAnswers returns a context whose requests to the API note what their answers say of themselves.
func withAnswers(ctx context.Context, of *answers) context.Context {
	return context.WithValue(ctx, answersKey{}, of)
}

// noting notes what answers of the API say of themselves.
type noting struct{ client.HttpRequestDoer }

// Do sends a request.
func (n noting) Do(req *http.Request) (*http.Response, error) {
	answer, err := n.HttpRequestDoer.Do(req)
	if err != nil {
		return nil, err
	}
	page, ok := req.Context().Value(answersKey{}).(*answers)
	if !ok {
		return answer, nil
	}
	if asOf := answer.Header.Get(asOfHeader); asOf != "" {
		page.asOf.Store(&asOf)
	}
	if missing := answer.Header.Get(missingHeader); missing != "" {
		page.lacks(missing)
	}
	return answer, nil
}

// standbyNote says that a page is shown while the database is away.
type standbyNote struct {
	Known bool  // since when something may be missing
	AsOf  stamp // that time
}

// standbyNote returns nil where the answers of this page have all that was written before.
func (r *request) standbyNote() *standbyNote {
	if r.answers == nil {
		return nil
	}
	asOf := r.answers.asOf.Load()
	if asOf == nil {
		return nil
	}
	at, err := time.Parse(time.RFC3339, *asOf)
	if err != nil {
		return &standbyNote{}
	}
	return &standbyNote{Known: true, AsOf: r.stamp(at)}
}

// missingNote says which results a page may lack; empty where it has all.
func (r *request) missingNote() string {
	if r.answers == nil {
		return ""
	}
	names := r.answers.lacking()
	if len(names) == 0 {
		return ""
	}
	known, _ := r.s.regions.all(r.Context(), r.api) // without their names the keys are shown
	for i, key := range names {
		if region, has := known[key]; has {
			names[i] = region.City
		}
		if key == "*" {
			names[i] = "all regions without a database of their own"
		}
	}
	return strings.Join(names, ", ")
}
