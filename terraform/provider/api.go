// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"sync"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil/client"
)

// api is the API with what the provider's configuration adds.
type api struct {
	client  *client.Client
	project string
	labels  map[string]string // default_labels

	regions func(context.Context) ([]map[string]any, error) // read once
}

// newAPI returns an API at an address.
func newAPI(address, key, version string) (*api, error) {
	doer := &transport{client: &http.Client{Timeout: requestTimeout}, key: key, version: version}
	c, err := client.NewClient(address, client.WithHTTPClient(doer))
	if err != nil {
		return nil, fmt.Errorf("use the address %s: %w", address, err)
	}
	a := &api{client: c}
	var once sync.Mutex
	var regions []map[string]any
	a.regions = func(ctx context.Context) ([]map[string]any, error) {
		once.Lock()
		defer once.Unlock()
		if regions != nil {
			return regions, nil
		}
		var err error
		regions, err = pages(ctx, func(more edit) (*http.Response, error) { return c.ListRegions(ctx, nil, more) }, nil)
		return regions, err
	}
	return a, nil
}

// failure is an answer of the API that is not a success.
type failure struct {
	Status    int
	Code      string         `json:"code"`
	Message   string         `json:"error"`
	RequestID string         `json:"request_id"`
	Details   map[string]any `json:"details"`
}

// Error returns the message for a person.
func (f *failure) Error() string { return f.Message }

// status returns the status of a failed request; 0 when there was no answer.
func status(err error) int {
	if f, ok := errors.AsType[*failure](err); ok {
		return f.Status
	}
	return 0
}

// data decodes the member "data" of an answer; an answer without a body has none.
func data[T any](answer *http.Response, err error) (T, error) {
	var body struct {
		Data T `json:"data"`
	}
	err = decodeAnswer(answer, err, &body)
	return body.Data, err
}

// decodeAnswer reads the body of an answer; one that is not a success is a failure.
func decodeAnswer(answer *http.Response, err error, body any) error {
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	raw, err := io.ReadAll(answer.Body)
	if err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	if answer.StatusCode >= http.StatusBadRequest {
		failed := &failure{Status: answer.StatusCode}
		if json.Unmarshal(raw, failed) != nil || failed.Message == "" {
			failed.Message = fmt.Sprintf("The server answered with status %d. Is the url that of a Vigil?", answer.StatusCode)
		}
		return failed
	}
	if len(raw) == 0 {
		return nil
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	if err := decoder.Decode(body); err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	return nil
}

// page is a part of a list.
type page struct {
	Data []map[string]any `json:"data"`
	Meta struct {
		Total string `json:"total"`
	} `json:"meta"`
}

// pages reads all pages of a list. A page may have fewer rows than asked for.
func pages(ctx context.Context, list func(more edit) (*http.Response, error), query url.Values) ([]map[string]any, error) {
	all := []map[string]any{}
	for {
		var part page
		answer, err := list(func(_ context.Context, r *http.Request) error {
			q := r.URL.Query()
			maps.Copy(q, query)
			q.Set("limit", "100")
			q.Set("offset", strconv.Itoa(len(all)))
			r.URL.RawQuery = q.Encode()
			return nil
		})
		if err := decodeAnswer(answer, err, &part); err != nil {
			return nil, err
		}
		all = append(all, part.Data...)
		total, err := strconv.Atoi(part.Meta.Total)
		if err != nil || len(part.Data) == 0 || len(all) >= total || ctx.Err() != nil {
			return all, ctx.Err()
		}
	}
}

// get reads an object; nil when it does not exist.
func (s *shape) get(ctx context.Context, a *api, at place) (map[string]any, error) {
	if s.read == nil { // keys are in lists only
		all, err := s.find(ctx, a, nil)
		for _, one := range all {
			if one[idName] == at.ID.String() {
				return one, nil
			}
		}
		return nil, err
	}
	got, err := data[map[string]any](s.read(ctx, a.client, at))
	if status(err) == http.StatusNotFound {
		return nil, nil
	}
	return got, err
}

// find lists the objects that a query selects.
func (s *shape) find(ctx context.Context, a *api, query url.Values) ([]map[string]any, error) {
	return pages(ctx, func(more edit) (*http.Response, error) { return s.list(ctx, a.client, more) }, query)
}

// findManaged returns the object with a key in a project; nil when there is none.
func (s *shape) findManaged(ctx context.Context, a *api, project, key string) (map[string]any, error) {
	found, err := s.find(ctx, a, url.Values{"tool": {tool}, "project": {project}, "key": {key}})
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return found[0], nil
}

// header returns an edit that sets a header.
func header(name, value string) edit {
	return func(_ context.Context, r *http.Request) error {
		if value != "" {
			r.Header.Set(name, value)
		}
		return nil
	}
}

// placeOf returns where an object of the API is.
func placeOf(got map[string]any) place {
	id, _ := uuid.Parse(plain(got[idName]))
	check, _ := uuid.Parse(plain(got[parentName]))
	return place{ID: id, Check: check}
}
