// SPDX-License-Identifier: Apache-2.0

package egress_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"os"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil/internal/egress"
)

// TestTargetsCannotWriteIntoTheLog: the standard library logs what a server says
// before it is asked.
func TestTargetsCannotWriteIntoTheLog(t *testing.T) { //nolint:paralleltest // watches the process's log
	var written bytes.Buffer
	log.SetOutput(&written)
	t.Cleanup(func() { log.SetOutput(os.Stderr) })
	certificates := httptest.NewTLSServer(http.NotFoundHandler())
	defer certificates.Close()
	for scheme, secure := range map[string]*tls.Config{"http": nil, "https": {Certificates: certificates.TLS.Certificates}} {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		if secure != nil {
			listener = tls.NewListener(listener, secure)
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			for {
				conn, err := listener.Accept()
				if err != nil {
					return
				}
				_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nX: look at me\r\nContent-Length: 0\r\n\r\n")
				_, _ = conn.Read(make([]byte, 4096))
				_ = conn.Close()
			}
		}()
		for range 5 {
			talkLate(t, scheme+"://"+listener.Addr().String())
		}
		_ = listener.Close()
		<-done
		if written.Len() > 0 {
			t.Errorf("%s: the target wrote into the log: %.100s", scheme, written.String())
			written.Reset()
		}
	}
}

// talkLate asks when the server has long spoken.
func talkLate(t *testing.T, url string) {
	t.Helper()
	ctx, cancel := context.WithCancel(httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) {
			timer := time.NewTimer(20 * time.Millisecond)
			defer timer.Stop()
			<-timer.C
		},
	}))
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	client := egress.New(everything()).Client(ctx, egress.ClientOptions{TLS: &tls.Config{InsecureSkipVerify: true}})
	response, err := client.Do(request)
	if err == nil {
		_ = response.Body.Close()
	}
}
