// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"time"
)

// startTarget starts an HTTP target in a process of its own.
func startTarget(ctx context.Context) (target *part, url string, err error) {
	var ready struct {
		URL string `json:"url"`
	}
	target, err = spawn(ctx, "target", nil, &ready, "bench", "target")
	return target, ready.URL, err
}

// Target serves an HTTP target on a free loopback port until ctx ends. Its
// address is the first line on out, as JSON.
func Target(ctx context.Context, out io.Writer) error {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{
		ReadHeaderTimeout: 5 * time.Second,
		Handler:           http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }),
	}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	if err := json.NewEncoder(out).Encode(map[string]string{"url": "http://" + listener.Addr().String() + "/"}); err != nil {
		return err
	}
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
