// SPDX-License-Identifier: Apache-2.0

package web

import (
	"context"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/vigil-monitor/vigil/client"
)

// asOfHeader is the header of answers of the API that are read from a standby while the database is away.
const asOfHeader = "Vigil-As-Of"

// answersKey is the key of what a page has learned of the answers that it is made from.
type answersKey struct{}

// answers is what a page has learned of the answers that it is made from.
type answers struct {
	asOf atomic.Pointer[string] // nil: all have what was written before
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
	if asOf := answer.Header.Get(asOfHeader); asOf != "" {
		if page, ok := req.Context().Value(answersKey{}).(*answers); ok {
			page.asOf.Store(&asOf)
		}
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
