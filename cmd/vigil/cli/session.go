// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/vigil-monitor/vigil/client"
	"github.com/vigil-monitor/vigil/internal/console"
)

// session is a command's connection to a server.
type session struct {
	*console.Console
	api *client.Client
	to  target
}

// session connects a command to its server. It sends no request yet.
func (a *app) session(cmd *cobra.Command) (*session, error) {
	con, err := a.console(cmd)
	if err != nil {
		return nil, err
	}
	to, err := a.target(con)
	if err != nil {
		return nil, err
	}
	if to.Key == "" {
		return nil, console.Errorf(console.Login, "there is no key for %s: run `vigil login %s`, or set %s", to.URL, to.URL, keyVariable)
	}
	return a.connect(con, to)
}

// connect returns the client of a server.
func (a *app) connect(con *console.Console, to target) (*session, error) {
	api, err := client.NewClient(to.URL, client.WithHTTPClient(newTransport(to.Key, a.host.Version, a.flags.timeout, a.flags.debug, con)))
	if err != nil {
		return nil, err
	}
	return &session{Console: con, api: api, to: to}, nil
}

// maxBody bounds an answer, in bytes.
const maxBody = 64 << 20

// read reads an answer of the API. An answer that is not a success is an error with the
// exit code for it.
func read[T any](s *session, response *http.Response, err error) (answer T, body []byte, _ error) {
	body, err = s.body(response, err)
	if err != nil {
		return answer, body, err
	}
	if len(body) > 0 {
		if err := json.Unmarshal(body, &answer); err != nil {
			return answer, body, console.Errorf(console.Failed, "%s sends no answer of Vigil's API: %w", s.to.URL, err)
		}
	}
	return answer, body, nil
}

// body reads the body of an answer.
func (s *session) body(response *http.Response, err error) ([]byte, error) {
	if err != nil {
		return nil, s.unreachable(err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxBody))
	if err != nil {
		return nil, s.unreachable(err)
	}
	if response.StatusCode >= http.StatusMultipleChoices {
		return body, s.refusal(response, body)
	}
	return body, nil
}

// unreachable explains that there was no answer.
func (s *session) unreachable(err error) error {
	if strings.Contains(err.Error(), context.Canceled.Error()) {
		return console.Errorf(console.Interrupted, "interrupted: %w", context.Canceled)
	}
	hint := ""
	if parsed, parseErr := url.Parse(s.to.URL); parseErr == nil && loopback(parsed.Hostname()) {
		hint = "; is `vigil up` running?"
	}
	return console.Errorf(console.Unreachable, "%s does not answer: %s%s", s.to.URL, redacted(reason(err)), hint)
}

func loopback(host string) bool {
	return host == "localhost" || host == "::1" || strings.HasPrefix(host, "127.")
}

// refusal turns an answer that is not a success into an error.
func (s *session) refusal(response *http.Response, body []byte) error {
	var said client.Error
	if json.Unmarshal(body, &said) != nil || said.Error == "" {
		if to := response.Header.Get("Location"); to != "" && response.StatusCode < http.StatusBadRequest {
			return console.Errorf(console.Failed, "%s redirects to %s; use that address, since a key is not sent on", s.to.URL, redacted(to))
		}
		return console.Errorf(exitCode(response.StatusCode, ""), "%s answers with status %d and no explanation", s.to.URL, response.StatusCode)
	}
	message := strings.TrimRight(said.Error, ".")
	hint := ""
	switch said.Code {
	case client.ErrorCodeUnauthorized:
		hint = fmt.Sprintf("; the key comes from %s, `vigil login` gets another", s.to.KeyFrom)
	case client.ErrorCodeForbidden:
		hint = "; `vigil auth status` shows what the key may do"
	default:
	}
	return console.Errorf(
		exitCode(response.StatusCode, said.Code), "%s%s (%s, request %s)",
		console.Clean(redacted(message)), hint, console.Clean(string(said.Code)), console.Clean(said.RequestId),
	)
}

// exitCode is the exit code for the status of an answer.
func exitCode(status int, code client.ErrorCode) console.Code {
	switch status {
	case http.StatusUnauthorized:
		return console.Login
	case http.StatusForbidden:
		if code == client.ErrorCodePlanLimit {
			return console.Failed
		}
		return console.Login
	case http.StatusNotFound:
		return console.NotFound
	case http.StatusConflict, http.StatusPreconditionFailed:
		return console.Conflict
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return console.Unreachable
	}
	return console.Failed
}

// unlimited is how many rows a list of definitions shows at most without --limit.
const unlimited = 1000

// pageSize is how many rows a request asks for; a list that has smaller pages sends those.
const pageSize = 100

// fetchPage gets a page of a list: the editor sets which.
type fetchPage func(page client.RequestEditorFn) (*http.Response, error)

// rows are the rows of a list.
type rows[T any] struct {
	data []T
	raw  []json.RawMessage
	meta map[string]json.RawMessage
	// total is how many there are, also those that were not read.
	total int64
	more  bool // there are more than were read
}

// list reads the pages of a list, up to a number of rows, in one answer.
func list[T any](s *session, limit int, fetch fetchPage) (rows[T], error) {
	var all rows[T]
	cursor, cursors := "", false
	progress := s.Progress("reading the list")
	defer progress.Done()
	for {
		want := min(limit-len(all.raw), pageSize)
		response, err := fetch(pageEditor(want, len(all.raw), cursor))
		page, _, err := read[struct {
			Data []json.RawMessage          `json:"data"`
			Meta map[string]json.RawMessage `json:"meta"`
		}](s, response, err)
		if err != nil {
			return all, err
		}
		if all.meta == nil {
			all.meta = page.Meta
			all.total = totalOf(page.Meta)
		}
		all.raw = append(all.raw, page.Data...)
		cursor = ""
		_ = json.Unmarshal(page.Meta["next_cursor"], &cursor)
		cursors = cursors || cursor != ""
		all.more = cursor != "" || !cursors && len(page.Data) > 0 && int64(len(all.raw)) < all.total
		if len(all.raw) >= limit || !all.more {
			break
		}
		progress.Set("reading the list: %s of %s", console.Thousands(int64(len(all.raw))), console.Thousands(all.total))
	}
	all.data = make([]T, len(all.raw))
	for i, raw := range all.raw {
		if err := json.Unmarshal(raw, &all.data[i]); err != nil {
			return all, fmt.Errorf("%s sends a row that cannot be read: %w", s.to.URL, err)
		}
	}
	return all, nil
}

func totalOf(meta map[string]json.RawMessage) int64 {
	var text string
	_ = json.Unmarshal(meta["total"], &text)
	total, _ := strconv.ParseInt(text, 10, 64)
	return total
}

// pageEditor asks for a page: behind a cursor, else behind a number of rows.
func pageEditor(limit, offset int, cursor string) client.RequestEditorFn {
	return func(_ context.Context, request *http.Request) error {
		query := request.URL.Query()
		query.Set("limit", strconv.Itoa(limit))
		switch {
		case cursor != "":
			query.Set("cursor", cursor)
		case offset > 0:
			query.Set("offset", strconv.Itoa(offset))
		}
		request.URL.RawQuery = query.Encode()
		return nil
	}
}

// body is the envelope of all rows that were read.
func (r *rows[T]) body() ([]byte, error) {
	raw := r.raw
	if raw == nil {
		raw = []json.RawMessage{}
	}
	meta := r.meta
	if !r.more {
		delete(meta, "next_cursor")
	}
	return json.Marshal(struct {
		Data []json.RawMessage          `json:"data"`
		Meta map[string]json.RawMessage `json:"meta"`
	}{raw, meta})
}

// show prints rows as a table, and says when there are more.
func show[T any](s *session, all rows[T], table console.List, row func(T) []console.Cell, more ...console.Part) error {
	for _, one := range all.data {
		table.Rows = append(table.Rows, row(one))
	}
	body, err := all.body()
	if err != nil {
		return err
	}
	if err := s.Print(console.Answer{Body: body, Parts: append([]console.Part{table}, more...)}); err != nil {
		return err
	}
	if all.more {
		s.Warn("first %s of %s; --limit %d for more", console.Thousands(int64(len(all.data))), all.count(), all.total)
	}
	return nil
}

// count is how many rows there are.
func (r *rows[T]) count() string {
	capped := false
	_ = json.Unmarshal(r.meta["total_capped"], &capped)
	if capped {
		return "more than " + console.Thousands(r.total)
	}
	return console.Thousands(r.total)
}

// once returns an editor that lets the server do a request once, however often it is sent.
func once() client.RequestEditorFn {
	key := uuid.NewString()
	return func(_ context.Context, request *http.Request) error {
		request.Header.Set("Idempotency-Key", key)
		return nil
	}
}
