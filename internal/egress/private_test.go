// SPDX-License-Identifier: Apache-2.0

package egress_test

import (
	"errors"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/vigil-monitor/vigil/internal/egress"
	"github.com/vigil-monitor/vigil/internal/probe/probetest"
)

// interfaces lists addresses as those of the machine.
func interfaces(addresses ...string) egress.Option {
	return egress.WithInterfaces(func() ([]net.Addr, error) {
		var list []net.Addr
		for _, address := range addresses {
			ip, network, err := net.ParseCIDR(address)
			if err != nil {
				return nil, err
			}
			list = append(list, &net.IPNet{IP: ip, Mask: network.Mask})
		}
		return list, nil
	})
}

func TestTheMachinesOwnAddressesCountAsLoopback(t *testing.T) {
	t.Parallel()
	own := interfaces("93.184.216.34/24", "2606:2800::1/64")
	closed := egress.New(egress.Policy{}, own)
	for _, address := range []string{
		"93.184.216.34:80", "[2606:2800::1]:443", "[::ffff:93.184.216.34]:80", "[64:ff9b::93.184.216.34]:80", "[2002:5db8:d822::1]:80",
	} {
		refusal := refusalOf(t, closed.Check("tcp", address))
		if refusal == nil || refusal.Never || !strings.Contains(refusal.Error(), "an address of the platform's machine") {
			t.Errorf("%s: got %v", address, refusal)
		}
	}
	for _, address := range []string{"93.184.216.35:80", "[2606:2800::2]:443"} {
		if err := closed.Check("tcp", address); err != nil {
			t.Errorf("%s, another machine of the same network: %v", address, err)
		}
	}
	for what, policy := range map[string]egress.Policy{
		"private targets are open": {AllowPrivate: true},
		"the operator allows it":   {AllowedCIDRs: []netip.Prefix{netip.MustParsePrefix("93.184.216.34/32")}},
	} {
		if err := egress.New(policy, own).Check("tcp", "93.184.216.34:80"); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	t.Run("PortsOfThePlatformAreRefusedOnEachOfThem", func(t *testing.T) {
		t.Parallel()
		policy := egress.Policy{AllowPrivate: true, Refused: []netip.AddrPort{netip.MustParseAddrPort("[::]:7234")}}
		if refusal := refusalOf(t, egress.New(policy, own).Check("tcp", "93.184.216.34:7234")); refusal == nil || !refusal.Never {
			t.Errorf("got %v", refusal)
		}
	})
	t.Run("WithoutTheListNoPortOfThePlatformIsReached", func(t *testing.T) {
		t.Parallel()
		policy := egress.Policy{AllowPrivate: true, Refused: []netip.AddrPort{netip.MustParseAddrPort("127.0.0.1:7234")}}
		blind := egress.New(policy, egress.WithInterfaces(func() ([]net.Addr, error) { return nil, errors.New("no list") }))
		if err := blind.Check("tcp", "93.184.216.34:7234"); err == nil {
			t.Error("a port of the platform is reached")
		}
		if err := blind.Check("tcp", "93.184.216.34:80"); err != nil {
			t.Errorf("another port: %v", err)
		}
	})
}

func TestClosePrivate(t *testing.T) {
	t.Parallel()
	guard := egress.New(egress.Policy{AllowPrivate: true, AllowedCIDRs: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")}})
	mail := guard.ForMail()
	if !guard.PrivateOpen() || guard.Check("tcp", "127.0.0.1:80") != nil || mail.Check("tcp", "127.0.0.1:25") != nil {
		t.Fatal("private targets are not open")
	}
	guard.ClosePrivate()
	for _, address := range []string{"127.0.0.1:80", "192.168.1.1:80", "100.64.0.1:80"} {
		if refusalOf(t, guard.Check("tcp", address)) == nil || refusalOf(t, mail.Check("tcp", address)) == nil {
			t.Errorf("%s is reached", address)
		}
	}
	if guard.PrivateOpen() || mail.PrivateOpen() {
		t.Error("private targets are open")
	}
	for _, address := range []string{"10.1.2.3:80", "93.184.216.34:80"} {
		if err := guard.Check("tcp", address); err != nil {
			t.Errorf("%s: %v", address, err)
		}
	}
}

func TestARefusalDoesNotDiscloseTheAddressOfAName(t *testing.T) {
	t.Parallel()
	server := probetest.Resolver(t, probetest.At("10.2.3.4"))
	guard := egress.New(egress.Policy{}, egress.WithNameServer(server))
	client := guard.Client(t.Context(), egress.ClientOptions{})
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://vault.test.:8200/", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	_, sent := client.Do(request)
	_, dialed := guard.DialContext(t.Context(), "tcp", "vault.test.:8200")
	_, resolved := guard.Resolve(t.Context(), "ip4", "vault.test.")
	for what, err := range map[string]error{"a request": sent, "a connection": dialed, "a look-up": resolved} {
		refusal := refusalOf(t, err)
		if refusal == nil || !strings.HasPrefix(refusal.Target, "vault.test.") || strings.Contains(refusal.Error(), "10.2.3.4") ||
			!strings.Contains(refusal.Error(), "is a private address") {
			t.Errorf("%s: %v", what, refusal)
		}
	}
}

func TestMailPorts(t *testing.T) {
	t.Parallel()
	guard := egress.New(egress.Policy{AllowedCIDRs: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")}})
	for _, address := range []string{"93.184.216.34:25", "93.184.216.34:465", "[2606:2800::1]:587", "10.1.2.3:25"} {
		refusal := refusalOf(t, guard.Check("tcp", address))
		if refusal == nil || refusal.Error() != address+" is a port for mail, which only smtp-imap checks reach" {
			t.Errorf("%s: got %v", address, refusal)
		}
		if err := guard.ForMail().Check("tcp", address); err != nil {
			t.Errorf("%s by an smtp-imap check: %v", address, err)
		}
		if err := egress.New(egress.Policy{AllowPrivate: true}).Check("tcp", address); err != nil {
			t.Errorf("%s while private targets are open: %v", address, err)
		}
	}
	for _, address := range []string{"93.184.216.34:993", "93.184.216.34:2525", "93.184.216.34:443"} {
		if err := guard.Check("tcp", address); err != nil {
			t.Errorf("%s: %v", address, err)
		}
	}
	own := egress.New(egress.Policy{Refused: []netip.AddrPort{netip.MustParseAddrPort("93.184.216.34:25")}}).ForMail()
	if refusal := refusalOf(t, own.Check("tcp", "93.184.216.34:25")); refusal == nil || !refusal.Never {
		t.Errorf("a port of the platform: %v", refusal)
	}
	if refusal := refusalOf(t, guard.ForMail().Check("tcp", "127.0.0.1:25")); refusal == nil {
		t.Error("the machine's own mail server is reached")
	}
}

func TestAddressesOfTheInside(t *testing.T) {
	t.Parallel()
	guard := egress.New(egress.Policy{AllowedCIDRs: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")}}, interfaces("93.184.216.34/24"))
	for address, want := range map[string]struct{ disclosed, public bool }{
		"127.0.0.1": {true, false}, "10.2.0.1": {true, false}, "::ffff:10.2.0.1": {true, false}, "fd00::1": {true, false},
		"169.254.1.1": {true, false}, "fe80::1": {true, false}, "100.64.0.1": {true, false}, "64:ff9b::10.2.0.1": {true, false},
		"10.1.0.1": {false, false}, "93.184.216.34": {false, true}, "0.0.0.0": {false, false}, "1.1.1.1": {false, true},
		"2606:4700::1111": {false, true},
	} {
		addr := netip.MustParseAddr(address)
		if got := guard.Discloses(addr); got != want.disclosed {
			t.Errorf("%s: disclosed %v", address, got)
		}
		if got := guard.IsPublic(addr); got != want.public {
			t.Errorf("%s: public %v", address, got)
		}
	}
	if egress.New(egress.Policy{AllowPrivate: true}).Discloses(netip.MustParseAddr("10.2.0.1")) {
		t.Error("nothing is hidden while private targets are open")
	}
}
