// SPDX-License-Identifier: Apache-2.0

package web

import (
	"errors"
	"net/http"

	"github.com/vigil-monitor/vigil/client"
)

// APIError is an answer of the API that is not a success.
type APIError = client.APIError

// fromKey is the key of the browser's request in the context of a request to the API.
type fromKey struct{}

// asBrowser gives a request to the API the address and the name that the browser's own
// request came with.
func asBrowser(req *http.Request) {
	if from, ok := req.Context().Value(fromKey{}).(*http.Request); ok {
		client.SameCaller(req, from)
	}
}

// hasCode reports whether err is an answer of the API with the code.
func hasCode(err error, code string) bool {
	known, ok := errors.AsType[*APIError](err)
	return ok && known.Code == code
}

// errNoPage is the error of a path that is no page.
func errNoPage() error {
	return &APIError{Status: http.StatusNotFound, Code: "not_found", Message: "There is no page at this address."}
}
