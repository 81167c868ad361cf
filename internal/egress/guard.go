// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"code.dny.dev/ssrf"
)

// Guard opens connections to the outside under a Policy. It keeps no
// connection and is safe for concurrent use.
type Guard struct {
	policy   Policy
	public   *ssrf.Guardian
	metadata map[netip.Addr]bool
	shared   netip.Prefix
	resolver *net.Resolver
	// nameServer replaces those of the machine; empty: none does.
	nameServer string
	machine    *machine
	mail       bool         // may reach the ports of mail servers
	closed     *atomic.Bool // private addresses are refused although the policy permits them
}

// Option changes how a Guard resolves names.
type Option func(*Guard)

// WithNameServer asks one name server instead of those that the machine is
// configured with. The machine's hosts file is still read first.
func WithNameServer(server netip.AddrPort) Option {
	return func(g *Guard) { g.nameServer, g.resolver = server.String(), resolver(server.String()) }
}

// WithInterfaces replaces the list of the machine's own addresses.
func WithInterfaces(list func() ([]net.Addr, error)) Option {
	return func(g *Guard) { g.machine.list = list }
}

// New makes a Guard.
func New(policy Policy, opts ...Option) *Guard {
	g := &Guard{
		policy:   policy,
		public:   ssrf.New(ssrf.WithAnyPort(), ssrf.WithAnyNetwork()),
		metadata: make(map[netip.Addr]bool),
		shared:   netip.MustParsePrefix("100.64.0.0/10"),
		resolver: resolver(""),
		machine:  &machine{list: net.InterfaceAddrs},
		closed:   new(atomic.Bool),
	}
	for _, addr := range metadata() {
		g.metadata[addr] = true
	}
	for _, opt := range opts {
		opt(g)
	}
	return g
}

// Check judges an address of the form IP:port without opening anything. The
// error is a *Refusal for an address that is not permitted.
func (g *Guard) Check(_, address string) error {
	target, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("egress: not an address with a port: %w", err)
	}
	return g.judge(target.Addr(), target.Port())
}

// CheckHost judges a host before anything is resolved: an address, or a name
// that always means this machine (RFC 6761). Other names pass, and are judged
// when they are dialled. Port 0 stands for no port.
func (g *Guard) CheckHost(host string, port uint16) error {
	if addr, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
		return g.judge(addr, port)
	}
	name := strings.TrimSuffix(strings.ToLower(host), ".")
	if name == "localhost" || strings.HasSuffix(name, ".localhost") {
		return g.judge(netip.AddrFrom4([4]byte{127, 0, 0, 1}), port)
	}
	return nil
}

// Dialer returns a dialer that judges every address it connects to, TCP and
// UDP. A timeout of zero leaves the limit to the context.
func (g *Guard) Dialer(timeout time.Duration) *net.Dialer {
	return &net.Dialer{
		Timeout:   timeout,
		KeepAlive: -1,
		Resolver:  g.resolver,
		ControlContext: func(_ context.Context, network, address string, _ syscall.RawConn) error {
			return g.Check(network, address)
		},
	}
}

// DialContext connects to a host and port. The connection is closed when ctx is
// done, even while it is in use.
func (g *Guard) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := g.connect(ctx, network, address)
	if err != nil {
		return nil, fmt.Errorf("dial: %w", g.asNamed(err, address))
	}
	return bind(ctx, conn), nil
}

// connect opens a connection that ctx does not end any more.
func (g *Guard) connect(ctx context.Context, network, address string) (net.Conn, error) {
	bare := strings.TrimRight(network, "46")
	return Connect(ctx, g, network, address, func(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
		return g.Dialer(0).DialContext(untraced{ctx}, bare, to.String()) //nolint:contextcheck // it is ctx, without its values
	}, func(late net.Conn) { _ = late.Close() })
}

// LookupTXT returns the texts of the TXT records of a name.
func (g *Guard) LookupTXT(ctx context.Context, name string) ([]string, error) {
	return g.resolver.LookupTXT(ctx, name)
}

// Resolve returns the permitted addresses of a host, for protocols that open
// their own sockets. Network is ip, ip4 or ip6. A host of which no address is
// permitted gives the *Refusal of its first one.
func (g *Guard) Resolve(ctx context.Context, network, host string) ([]netip.Addr, error) {
	found, err := g.resolver.LookupNetIP(ctx, network, strings.Trim(host, "[]"))
	if err != nil {
		return nil, fmt.Errorf("resolve: %w", err)
	}
	var refusal error
	permitted := slices.DeleteFunc(found, func(addr netip.Addr) bool {
		err := g.judge(addr, 0)
		refusal = cmp.Or(refusal, err)
		return err != nil
	})
	if len(permitted) == 0 {
		return nil, g.asNamed(cmp.Or(refusal, errors.New("resolve: no addresses")), host)
	}
	return permitted, nil
}

// boundConn is a connection that a context closes.
type boundConn struct {
	net.Conn

	release func() bool
	once    sync.Once
	err     error
}

func bind(ctx context.Context, conn net.Conn) net.Conn {
	b := &boundConn{Conn: conn}
	b.release = context.AfterFunc(ctx, func() { b.close() })
	return b
}

func (b *boundConn) Close() error {
	b.release()
	b.close()
	return b.err
}

func (b *boundConn) close() { b.once.Do(func() { b.err = b.Conn.Close() }) }
