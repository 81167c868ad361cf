// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil/internal/egress"
	"github.com/vigil-monitor/vigil/internal/notify"
	"github.com/vigil-monitor/vigil/internal/overview"
	"github.com/vigil-monitor/vigil/internal/statuspage"
)

// mute accepts connections, hands each over, and writes nothing.
func mute(t *testing.T, accepted func(net.Conn)) (address string) {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			defer conn.Close() // open until the test ends
			accepted(conn)
		}
	}()
	t.Cleanup(func() {
		_ = listener.Close()
		<-done
	})
	return listener.Addr().String()
}

// hookSender posts letters to webhooks with little patience.
func hookSender(patience time.Duration) *Platform {
	p := &Platform{Process: NewProcess(slog.New(slog.DiscardHandler), Program{})}
	p.channels = notify.NewRegistry(egress.New(egress.Policy{AllowPrivate: true}), notify.WithTimeout(patience))
	return p
}

func letterTo(address string) statuspage.Letter {
	return statuspage.Letter{
		ID: uuid.New(), To: overview.Reader{ID: uuid.New(), Kind: overview.ReaderWebhook, Address: address},
		Event: "status_page.incident.begins", Body: []byte(`{"type":"status_page.incident.begins"}`),
	}
}

// TestAWebhookMayHaveArrivedOnlyOnceItIsWritten: a receiver that is not reached has nothing, so its message
// is tried again; one that took the request and does not answer may have it.
func TestAWebhookMayHaveArrivedOnlyOnceItIsWritten(t *testing.T) {
	t.Parallel()
	silent := mute(t, func(net.Conn) {})
	reads := mute(t, func(conn net.Conn) {
		_, _ = conn.Read(make([]byte, 4<<10))
	})
	for name, test := range map[string]struct {
		address string
		unknown bool
	}{
		"the handshake of TLS is not answered": {"https://" + silent, false},
		"the request is never read":            {"http://" + silent, true},
		"the request is read and not answered": {"http://" + reads, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			begun := 0
			sent := hookSender(500*time.Millisecond).sendLetter(t.Context(), letterTo(test.address), func() error {
				begun++
				return nil
			})
			if sent.Err == nil || sent.Unknown != test.unknown || sent.Final || begun != 1 {
				t.Errorf("sent %+v, begun %d times; want unknown %t", sent, begun, test.unknown)
			}
		})
	}
}

// TestAWebhookThatIsCutOff: an interruption before the request was written leaves nothing that may have arrived.
func TestAWebhookThatIsCutOff(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	address := mute(t, func(net.Conn) { cancel() })
	begins := func() error { return nil }
	if sent := hookSender(time.Minute).sendLetter(ctx, letterTo("https://"+address), begins); sent.Err == nil || sent.Unknown {
		t.Errorf("before the request: %+v", sent)
	}
	ctx, cancel = context.WithCancel(t.Context())
	defer cancel()
	address = mute(t, func(conn net.Conn) {
		_, _ = io.ReadAtLeast(conn, make([]byte, 4<<10), len(http.MethodPost))
		cancel()
	})
	if sent := hookSender(time.Minute).sendLetter(ctx, letterTo("http://"+address), begins); sent.Err == nil || !sent.Unknown {
		t.Errorf("after the request: %+v", sent)
	}
}
