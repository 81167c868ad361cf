// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/api"
)

// frame is a block of server-sent events.
type frame struct {
	id, event, data, retry string
	comment                bool
}

// follower is a client of the stream that remembers ids as a browser does: one
// is taken over when its block is complete, whether it has data or not.
type follower struct {
	frames chan frame // closed when the stream has ended
	last   string     // id to resume behind
	cancel context.CancelFunc
}

// follow opens a stream. The answer is nil when it was refused.
func follow(ctx context.Context, url, credential, query, lastID string) (*follower, *http.Response, error) {
	ctx, cancel := context.WithCancel(ctx)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/v1/stream/alerts"+query, http.NoBody)
	if err != nil {
		cancel()
		return nil, nil, err
	}
	req.Header.Set("Authorization", "Bearer "+credential)
	if lastID != "" {
		req.Header.Set("Last-Event-ID", lastID)
	}
	// A connection of its own, which is gone when the follower is.
	res, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		cancel()
		return nil, nil, err
	}
	if res.StatusCode != http.StatusOK {
		res.Body.Close()
		cancel()
		return nil, res, nil
	}
	f := &follower{frames: make(chan frame), last: lastID, cancel: cancel}
	go func() {
		defer res.Body.Close()
		defer close(f.frames)
		readFrames(ctx, res, f.frames)
	}()
	return f, res, nil
}

func readFrames(ctx context.Context, res *http.Response, out chan<- frame) {
	lines := bufio.NewReader(res.Body)
	var one frame
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return // what is not complete does not count
		}
		line = strings.TrimSuffix(line, "\n")
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "":
			select {
			case out <- one:
			case <-ctx.Done():
				return
			}
			one = frame{}
		case name == "":
			one.comment = true
		case name == "id":
			one.id = value
		case name == "event":
			one.event = value
		case name == "data":
			one.data += value
		case name == "retry":
			one.retry = value
		}
	}
}

// errStreamEnded is what a follower meets at the end.
var errStreamEnded = errors.New("the stream has ended")

// next returns the next block that is no comment.
func (f *follower) next(patience time.Duration) (frame, error) {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for {
		select {
		case one, ok := <-f.frames:
			switch {
			case !ok:
				return frame{}, errStreamEnded
			case one.comment:
				continue
			case one.id != "":
				f.last = one.id
			}
			return one, nil
		case <-timer.C:
			return frame{}, errors.New("nothing came")
		}
	}
}

// streaming is an API whose streams are configured, on the database of a testServer.
type streaming struct {
	*testServer
	url    string
	server *api.Server
}

func (b *testServer) streaming(t *testing.T, config api.StreamConfig, options ...func(*api.Deps)) *streaming {
	t.Helper()
	var deps api.Deps
	b.serve(t, append(options, func(d *api.Deps) {
		d.Config.Streams = config
		deps = *d
	})...)
	server, err := api.New(deps)
	if err != nil {
		t.Fatal(err)
	}
	listener := httptest.NewServer(server)
	t.Cleanup(func() {
		server.EndStreams()
		listener.Close()
		server.Close()
	})
	return &streaming{testServer: b, url: listener.URL, server: server}
}

// setupStream is setup with the clock of the database, which dates events.
func setupStream(t *testing.T, config api.StreamConfig) *streaming {
	t.Helper()
	b := setup(t)
	b.clock.Advance(time.Since(b.clock.Now()))
	return b.streaming(t, config)
}

// open opens a stream that must be let in, and reads its first block.
func (s *streaming) open(t *testing.T, a person, query, lastID string) (*follower, frame) {
	t.Helper()
	f, res, err := follow(t.Context(), s.url, a.key, query, lastID)
	if err != nil || f == nil {
		t.Fatalf("the stream was refused: %v, %v", res, err)
	}
	t.Cleanup(f.cancel)
	first := f.must(t)
	if first.data != "" || first.id == "" || first.retry != "3000" {
		t.Fatalf("first block %+v", first)
	}
	return f, first
}

func (f *follower) must(t *testing.T) frame {
	t.Helper()
	one, err := f.next(15 * time.Second)
	if err != nil {
		t.Fatal(err)
	}
	return one
}

// quiet fails when anything comes for a moment.
func (f *follower) quiet(t *testing.T) {
	t.Helper()
	if one, err := f.next(300 * time.Millisecond); err == nil || errors.Is(err, errStreamEnded) {
		t.Errorf("came %+v, %v", one, err)
	}
}

// ended fails unless the stream ends soon.
func (f *follower) ended(t *testing.T, patience time.Duration) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for {
		_, err := f.next(time.Until(deadline))
		switch {
		case errors.Is(err, errStreamEnded):
			return
		case err != nil:
			t.Fatalf("the stream did not end within %v", patience)
		}
	}
}

// positions of what comes next, n of them.
func (f *follower) positions(t *testing.T, n int) []string {
	t.Helper()
	var got []string
	for range n {
		got = append(got, f.must(t).id)
	}
	return got
}

// flood stores events of an organization as if they had happened at a time, and
// returns their positions. The events say nothing that anybody reads.
func (s *streaming) flood(t *testing.T, org uuid.UUID, at time.Time, n, size int) []string {
	t.Helper()
	envelope, err := json.Marshal(
		map[string]any{"data": map[string]any{"organization": map[string]any{"id": org}}, "padding": strings.Repeat("x", size)},
	)
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	var from int64
	if err := s.store.DB().NewRaw("SELECT coalesce((SELECT seq FROM stream_heads WHERE org_id = ?), 0)", org).Scan(ctx, &from); err != nil {
		t.Fatal(err)
	}
	ms := at.UnixMilli()
	for _, step := range []struct {
		sql  string
		args []any
	}{
		{
			`INSERT INTO events (org_id, ms, seq, id, type, incident_id, check_id, time, envelope, title, body, variables)
			SELECT ?, ?, n, gen_random_uuid(), ?, gen_random_uuid(), gen_random_uuid(), ?, ?, '', '', '{}' FROM generate_series(?, ?) AS n`,
			[]any{org, ms, string(vigil.EventTriggered), at, string(envelope), from + 1, from + int64(n)},
		},
		{
			"INSERT INTO stream_heads (org_id, ms, seq) VALUES (?, ?, ?) ON CONFLICT (org_id) DO UPDATE SET ms = excluded.ms, seq = excluded.seq",
			[]any{org, ms, from + int64(n)},
		},
	} {
		if _, err := s.store.DB().NewRaw(step.sql, step.args...).Exec(ctx); err != nil {
			t.Fatal(err)
		}
	}
	positions := make([]string, n)
	for i := range positions {
		positions[i] = vigil.Position{MS: ms, Seq: from + int64(i) + 1}.String()
	}
	return positions
}
