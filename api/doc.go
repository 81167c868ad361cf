// Package api is the front door: the HTTP interface of the platform, described
// by one OpenAPI document and served by Huma on net/http.
//
// One file holds one resource. What a request may do is decided here; what it
// does is done by the store, the loops and the probes that are handed in, each
// through a small interface of this package's own. Everything that a caller
// ever sees has one of three shapes: {data}, {data, meta} and {error, code}.
package api
