// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/egress"
	"github.com/vigil-monitor/vigil/internal/redact"
)

const (
	maxMeasure = 10 * time.Second
	// minMeasure is the shortest time that a rate is computed over: below it
	// the clock, not the network, would be measured.
	minMeasure = time.Millisecond

	directionUpload = "upload"
)

// ThroughputConfig is the config of throughput checks.
type ThroughputConfig struct {
	Direction          string      `json:"direction,omitempty" title:"Direction" form:"address,medium" doc:"Which way is measured" enum:"download,upload" default:"download"`
	URL                string      `json:"url" sample:"https://www.example.com/10MB.bin" place:"url" secret:"query" doc:"Address to download from, or to upload to with POST. Values of query parameters with the names of credentials are secret" maxLength:"2048" example:"https://example.com/10MB.bin"`
	MinMbps            float64     `json:"min_mbps,omitempty" title:"Slowest rate that passes, in Mbit/s" help:"Every rate passes when it is empty." form:"expect,short" doc:"Rate below which the check fails, in megabits (10^6) a second" minimum:"0" maximum:"1000000"`
	MaxBytes           int         `json:"max_bytes,omitempty" title:"Most bytes" form:"more,medium" doc:"Bytes after which the measurement ends; what an upload sends" minimum:"1" maximum:"104857600" default:"10485760"`
	MaxDurationSeconds int         `json:"max_duration_seconds,omitempty" title:"Longest measurement, in seconds" form:"more,medium" sample:"10" doc:"Time after which the measurement ends, which is no failure; the server of an upload that takes no more bytes then has timeout_seconds to take one or to answer. Default: the smaller of 10 and half the interval" minimum:"1" maximum:"60"`
	TLS                *TLSOptions `json:"tls,omitempty" doc:"Names and certificates of the TLS connection to the URL's host"`
	TimeoutSeconds     int         `json:"timeout_seconds,omitempty" help:"Besides the measurement." doc:"Longest time besides the measurement: connecting and the rest of the exchange. Default: the smaller of 10 and half the interval" minimum:"1" maximum:"60"`
}

// ThroughputMetadata is the metadata of a result of a throughput check.
type ThroughputMetadata struct {
	Timings  Timings `json:"timings" doc:"How long each phase took"`
	IP       string  `json:"ip,omitempty" doc:"Address that answered"`
	Bytes    int64   `json:"bytes" doc:"Bytes of the body that were measured"`
	Seconds  float64 `json:"seconds" doc:"How long they took, s"`
	Mbps     float64 `json:"mbps" doc:"Rate, in megabits (10^6) a second"`
	Complete bool    `json:"complete" doc:"The body ended before max_bytes and max_duration_seconds did"`
}

var _ = register(newThroughput)

// newThroughput makes the throughput type.
func newThroughput(env *environment) Prober { return throughputProber{environment: env} }

type throughputProber struct{ *environment }

func (throughputProber) Type() vigil.CheckType { return vigil.TypeThroughput }

func (throughputProber) Documents() (config, metadata any) {
	return ThroughputConfig{}, ThroughputMetadata{}
}

// Describe says what the type is for.
func (throughputProber) Describe() TypeInfo {
	return TypeInfo{Position: 12, About: "Speed of a download", Schemes: []string{"https", "http"}}
}

func (p throughputProber) Parse(given json.RawMessage, interval time.Duration) (Probe, error) {
	probe := throughputProbe{guard: p.guard}
	var err error
	if probe.hidden, err = p.read(p.Type(), given, &probe.config); err != nil {
		return nil, err
	}
	if probe.url, err = parseURL(p.guard, "config.url", probe.config.URL, "http", "https"); err != nil {
		return nil, err
	}
	if probe.tls, err = probe.config.TLS.parse("config.tls", p.roots); err != nil {
		return nil, err
	}
	rest, err := timeout(probe.config.TimeoutSeconds, interval)
	if err != nil {
		return nil, err
	}
	if probe.config.TimeoutSeconds == 0 {
		rest = min(rest, interval/2)
	}
	probe.measure = min(maxMeasure, interval/2)
	if seconds := probe.config.MaxDurationSeconds; seconds != 0 {
		probe.measure = time.Duration(seconds) * time.Second
	}
	probe.deadline = probe.measure + rest
	if probe.deadline > interval {
		return nil, vigil.Invalid(
			"config.max_duration_seconds", "and timeout_seconds make %s together, which must not exceed the check's interval of %s",
			humanDuration(probe.deadline), humanDuration(interval),
		)
	}
	return probe, nil
}

type throughputProbe struct {
	hidden   *redact.Redactor
	guard    *egress.Guard
	tls      *tls.Config
	config   ThroughputConfig
	url      *url.URL
	measure  time.Duration
	deadline time.Duration
}

func (p throughputProbe) Deadline() time.Duration { return p.deadline }

func (p throughputProbe) Target() string { return p.url.Host }

// Changes says so of an upload, which is a POST request.
func (p throughputProbe) Changes() string {
	if p.config.Direction == directionUpload {
		return "config.direction is " + directionUpload
	}
	return ""
}

func (p throughputProbe) Run(ctx context.Context) vigil.Observation {
	return observe(ctx, p.guard, p.deadline, p.hidden, func(ctx context.Context, t *timeline) outcome {
		client := p.guard.Client(ctx, egress.ClientOptions{
			TLS: p.tls, UserAgent: userAgent, Home: homeOf(p.url),
		})
		t.recorder.follow(client)
		var seen ThroughputMetadata
		transfer := p.download
		if p.config.Direction == directionUpload {
			transfer = p.upload
		}
		status, err := transfer(ctx, t, client, &seen)
		t.stop()
		seen.Timings, seen.IP = t.timings(), t.address()
		if err == nil && seen.Mbps < p.config.MinMbps {
			err = fail("the rate is %s Mbit/s, expected at least %s",
				strconv.FormatFloat(seen.Mbps, 'f', -1, 64), strconv.FormatFloat(p.config.MinMbps, 'f', -1, 64))
		}
		return outcome{status: status, metadata: seen, err: err}
	})
}

// rate notes how much was moved in a time.
func (m *ThroughputMetadata) rate(n int64, took time.Duration) {
	took = max(took, minMeasure)
	m.Bytes, m.Seconds = n, took.Seconds()
	m.Mbps = math.Round(float64(n)*8/1e6/m.Seconds*1000) / 1000
}

// download measures from the headers of the answer on.
func (p throughputProbe) download(ctx context.Context, t *timeline, client *http.Client, seen *ThroughputMetadata) (int, error) {
	window, end := context.WithCancel(ctx)
	defer end()
	request, err := http.NewRequestWithContext(window, http.MethodGet, p.url.String(), nil)
	if err != nil {
		return 0, fmt.Errorf("make the request: %w", err)
	}
	request.Header.Set("User-Agent", userAgent)
	request.Header.Set("Accept-Encoding", "identity") // what travels is measured
	response, err := client.Do(request)
	if err != nil {
		return 0, fmt.Errorf("request: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	if err := p.expectSuccess(t, response); err != nil {
		return response.StatusCode, err
	}
	t.step("downloading")
	began := time.Now()
	timer := time.AfterFunc(p.measure, end)
	n, err := io.Copy(io.Discard, io.LimitReader(response.Body, int64(p.config.MaxBytes)))
	timeUp := !timer.Stop()
	seen.rate(n, time.Since(began))
	seen.Complete = err == nil && n < int64(p.config.MaxBytes)
	switch {
	case err != nil && !timeUp:
		return response.StatusCode, fmt.Errorf("download: %w", err)
	case n == 0 && timeUp:
		return response.StatusCode, failUnanswered("no byte of the body came within %s, expected some to measure", humanDuration(p.measure))
	case n == 0:
		return response.StatusCode, fail("the body of the answer is empty, expected bytes to measure")
	}
	return response.StatusCode, nil
}

// upload measures until the answer, or until time is up. What the kernel has taken counts as sent in the second case, so
// a server that has stopped reading looks like a slow one: it must take a byte, or answer, within the rest of the time.
func (p throughputProbe) upload(ctx context.Context, t *timeline, client *http.Client, seen *ThroughputMetadata) (int, error) {
	window, end := context.WithCancel(ctx)
	defer end()
	body := &noise{left: int64(p.config.MaxBytes), measure: p.measure, end: end, begun: func() { t.step("uploading") }}
	request, err := http.NewRequestWithContext(window, http.MethodPost, p.url.String(), body)
	if err != nil {
		return 0, fmt.Errorf("make the request: %w", err)
	}
	request.ContentLength = body.left
	request.Header.Set("User-Agent", userAgent)
	request.Header.Set("Content-Type", "application/octet-stream")
	response, err := client.Do(request)
	n, took := body.stop()
	if n > 0 {
		seen.rate(n, took)
	}
	if err != nil {
		if window.Err() != nil && ctx.Err() == nil { // the body has ended it
			return 0, nil
		}
		return 0, fmt.Errorf("upload: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	seen.Complete = n == int64(p.config.MaxBytes)
	return response.StatusCode, p.expectSuccess(t, response)
}

// expectSuccess returns why an answer is a failure, or nil. The body of one is for evidence.
func (p throughputProbe) expectSuccess(t *timeline, response *http.Response) error {
	t.recorder.status(response)
	status := response.StatusCode
	if status >= http.StatusOK && status < http.StatusMultipleChoices {
		return nil
	}
	if t.recorder != nil {
		first, _ := t.recorder.readFirst(response.Body, response.ContentLength)
		t.recorder.answered(response, first, int64(len(first)), len(first) < readEvidenceBody)
	}
	return fail("status %d, expected 2xx", status)
}

// noise is a body that does not compress. It ends the request when it was measured for long enough and the server still
// takes bytes.
type noise struct {
	measure time.Duration // from the first byte on
	end     func()
	begun   func() // called with the first byte

	mu    sync.Mutex
	block []byte
	left  int64
	taken int64
	began time.Time
	last  time.Time // when bytes were taken
	timer *time.Timer
	took  time.Duration // of the measurement; zero: it is not over
}

const noiseBlock = 64 << 10 // wider than the window of deflate

func (n *noise) Read(p []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	now := time.Now()
	if n.block == nil {
		n.block = make([]byte, noiseBlock)
		_, _ = rand.Read(n.block) // never fails
		n.begun()
		n.began, n.timer = now, time.AfterFunc(n.measure, n.over)
	}
	n.last = now
	if n.left == 0 {
		return 0, io.EOF
	}
	if n.took > 0 { // it has taken what was before
		n.end()
		return 0, context.Canceled
	}
	at := n.taken % noiseBlock
	count := copy(p[:min(int64(len(p)), n.left)], n.block[at:])
	n.taken += int64(count)
	n.left -= int64(count)
	return count, nil
}

// over ends the measurement, and the request unless the server takes nothing or has to answer.
func (n *noise) over() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.took = time.Since(n.began)
	if n.left > 0 && time.Since(n.last) <= n.measure/2 {
		n.end()
	}
}

// stop returns what was taken in what time.
func (n *noise) stop() (taken int64, took time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.timer != nil {
		n.timer.Stop()
	}
	if n.took > 0 && n.left > 0 {
		return n.taken, n.took
	}
	return n.taken, time.Since(n.began)
}
