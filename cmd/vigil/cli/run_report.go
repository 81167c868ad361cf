// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/vigil-monitor/vigil/client"
	"github.com/vigil-monitor/vigil/internal/console"
)

const (
	// startLimit is how long a job waits for the report of its start, and pingTimeout how long one
	// request may take.
	startLimit  = 5 * time.Second
	pingTimeout = 10 * time.Second
	// longestPingWait is the longest time between two tries.
	longestPingWait = 15 * time.Second
)

// exitPath is the end of the address for an exit code: a process has 0 to 255.
func exitPath(code int) string {
	if code < 0 || code > 255 {
		return "fail"
	}
	return strconv.Itoa(code)
}

// pingWait is how long to wait after a number of tries.
func pingWait(round int) time.Duration {
	return min(longestPingWait, repeatAfter<<min(round, 10))
}

// report sends a ping, again while the server does not answer, until a limit. All pings of a run have
// its id, so that one that arrives twice says the same.
func (r *jobRun) report(ctx context.Context, path string, body []byte, limit time.Duration) error {
	address, err := url.Parse(r.url)
	if err != nil || address.Host == "" {
		return console.Errorf(console.Usage, "the ping_url is not an address")
	}
	address = address.JoinPath(path)
	address.RawQuery = url.Values{"rid": {r.id.String()}}.Encode()
	end := r.con.Now().Add(limit)
	for round := 0; ; round++ {
		again, wait, err := r.ping(ctx, address.String(), body)
		if err == nil || !again {
			return err
		}
		if wait = max(wait, pingWait(round)); r.con.Now().Add(wait).After(end) {
			return err
		}
		_ = sleep(ctx, wait)
	}
}

// ping sends a ping once. Errors do not name the address, which is a secret.
func (r *jobRun) ping(ctx context.Context, address string, body []byte) (again bool, wait time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return false, 0, console.Errorf(console.Usage, "the ping_url is not an address")
	}
	request.Header.Set("User-Agent", "vigil-cli/"+r.app.host.Version)
	request.Header.Set("Content-Type", "text/plain")
	sender := &http.Client{}
	response, err := sender.Do(request)
	if err != nil {
		return true, 0, fmt.Errorf("%s does not answer: %s", request.URL.Host, reason(err))
	}
	defer func() { _ = response.Body.Close() }()
	_, _ = io.CopyN(io.Discard, response.Body, maxPingAnswer)
	if response.StatusCode == http.StatusOK {
		return false, 0, nil
	}
	asked, _ := client.RetryAfter(response.Header, r.con.Now())
	again = response.StatusCode == http.StatusTooManyRequests || response.StatusCode >= http.StatusInternalServerError
	return again, asked, fmt.Errorf("%s answers %d", request.URL.Host, response.StatusCode)
}

// maxPingAnswer bounds what is read of an answer.
const maxPingAnswer = 64 << 10
