// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
)

// figures are what the drills measured, in the order of their ends. TestMain prints
// them as one table.
var figures figureTable //nolint:gochecknoglobals // shared by all tests of the run

// figureTable collects figures with their bounds.
type figureTable struct {
	mu   sync.Mutex
	rows []string
}

// figure records what a drill measured beside its bound, and fails the test when the
// figure, less the allowance for pauses of the machine, is over the bound. The figure
// and the bound are printed as they are. A number of things is judged in every run; a
// duration or a share depends on what else the machine does, and is judged where one drill
// runs at a time (VIGIL_DRILL=full, `make chaos`).
func figure[N ~int | ~int64 | ~float64](t *testing.T, what string, got, bound, allowance N) {
	t.Helper()
	_, count := any(got).(int)
	verdict := "ok"
	switch over := got-allowance > bound; {
	case over && !count && !full():
		verdict = "over, not judged"
	case over:
		verdict = "OVER"
		t.Errorf("%s: %v, the bound is %v, the allowance for pauses %v", what, got, bound, allowance)
	case got > bound:
		verdict = "ok, less pauses"
	}
	row := fmt.Sprintf("%s\t%s\t%v\t<= %v\t%s", strings.TrimPrefix(t.Name(), "TestDrill"), what, shown(got), shown(bound), verdict)
	t.Log(strings.ReplaceAll(row, "\t", "  "))
	figures.mu.Lock()
	defer figures.mu.Unlock()
	figures.rows = append(figures.rows, row)
}

// shown rounds durations for people.
func shown(figure any) any {
	if d, ok := figure.(time.Duration); ok {
		return d.Round(time.Millisecond)
	}
	return figure
}

// print writes the table, if there is one.
func (f *figureTable) print(w io.Writer) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.rows) == 0 {
		return
	}
	out := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	_, _ = fmt.Fprintln(out, "DRILL\tFIGURE\tMEASURED\tBOUND\tVERDICT")
	for _, row := range f.rows {
		_, _ = fmt.Fprintln(out, row)
	}
	_ = out.Flush()
}

// freeze stops a process with SIGSTOP: it keeps its connections and answers nothing.
func (p *process) freeze() { p.signal(syscall.SIGSTOP) }

// thaw lets a frozen process go on.
func (p *process) thaw() { p.signal(syscall.SIGCONT) }

func (p *process) signal(s os.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatalf("signal %v: %v", s, err)
	}
}

// link is a TCP proxy in front of a server. While it is cut, it accepts connections
// and forwards nothing: for a client the server is neither refusing nor closed, it is a
// black hole. What was sent meanwhile is forwarded once the link is mended.
type link struct {
	address string
	backend string

	mu    sync.Mutex
	open  chan struct{} // closed while the link forwards
	conns []net.Conn
	done  bool
}

// newLink returns a link to the address of a server.
func newLink(t *testing.T, backend string) *link {
	t.Helper()
	return newLinkOn(t, "127.0.0.1", backend)
}

// newLinkOn is newLink on another address of this machine.
func newLinkOn(t *testing.T, host, backend string) *link {
	t.Helper()
	var config net.ListenConfig
	listener, err := config.Listen(t.Context(), "tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		t.Fatal(err)
	}
	l := &link{address: listener.Addr().String(), backend: backend, open: make(chan struct{})}
	close(l.open)
	var wait sync.WaitGroup
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	t.Cleanup(func() {
		stop()
		_ = listener.Close()
		l.drop(true)
		wait.Wait()
	})
	wait.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			wait.Go(func() { l.serve(ctx, conn) })
		}
	})
	return l
}

// cut makes the link a black hole, for open and new connections.
func (l *link) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open = make(chan struct{})
}

// mend lets the link forward again.
func (l *link) mend() {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.open)
}

// drop closes all connections of the link; final refuses new ones.
func (l *link) drop(final bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, conn := range l.conns {
		_ = conn.Close()
	}
	l.conns, l.done = nil, l.done || final
}

// forwards waits until the link forwards, and returns false when ctx ends first.
func (l *link) forwards(ctx context.Context) bool {
	for {
		l.mu.Lock()
		open := l.open
		l.mu.Unlock()
		select {
		case <-open:
		case <-ctx.Done():
			return false
		}
		l.mu.Lock()
		same := open == l.open
		l.mu.Unlock()
		if same {
			return true
		}
	}
}

// keep remembers connections, so that drop closes them.
func (l *link) keep(conns ...net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.conns = append(l.conns, conns...)
	return !l.done
}

func (l *link) serve(ctx context.Context, client net.Conn) {
	defer func() { _ = client.Close() }()
	if !l.keep(client) || !l.forwards(ctx) {
		return
	}
	var dialer net.Dialer
	server, err := dialer.DialContext(ctx, "tcp", l.backend)
	if err != nil {
		return
	}
	defer func() { _ = server.Close() }()
	if !l.keep(server) {
		return
	}
	var wait sync.WaitGroup
	wait.Go(func() { l.copy(ctx, server, client) })
	wait.Go(func() { l.copy(ctx, client, server) })
	wait.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.conns = slices.DeleteFunc(l.conns, func(c net.Conn) bool { return c == client || c == server })
}

// copy forwards one direction of a connection, and closes both ends with it.
func (l *link) copy(ctx context.Context, to, from net.Conn) {
	defer func() { _, _ = to.Close(), from.Close() }()
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			if !l.forwards(ctx) {
				return
			}
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			l.forwards(ctx) // a black hole does not show that the other side has closed
			return
		case err != nil:
			return
		}
	}
}

// TestLink shows that a cut link is a black hole and not a refusal.
func TestLink(t *testing.T) {
	timingtest.Parallel(t)
	var config net.ListenConfig
	server, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	go func() {
		for {
			conn, err := server.Accept()
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(conn, conn) }()
		}
	}()
	l := newLink(t, server.Addr().String())
	var dialer net.Dialer
	dial := func() net.Conn {
		conn, err := dialer.DialContext(t.Context(), "tcp", l.address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		return conn
	}
	echo := func(conn net.Conn, wait time.Duration) error {
		if _, err := conn.Write([]byte("x")); err != nil {
			return err
		}
		_ = conn.SetReadDeadline(time.Now().Add(wait))
		_, err := conn.Read(make([]byte, 1))
		return err
	}
	old := dial()
	if err := echo(old, waitLimit); err != nil {
		t.Fatalf("an open link: %v", err)
	}
	l.cut()
	for name, conn := range map[string]net.Conn{"an old connection": old, "a new connection": dial()} {
		if err := echo(conn, 200*time.Millisecond); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%s over a cut link: %v, want no answer", name, err)
		}
	}
	l.mend()
	for name, conn := range map[string]net.Conn{"an old connection": old, "a new connection": dial()} {
		if err := echo(conn, waitLimit); err != nil {
			t.Errorf("%s over a mended link: %v", name, err)
		}
	}
}
