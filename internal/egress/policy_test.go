// SPDX-License-Identifier: Apache-2.0

package egress_test

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/vigil-monitor/vigil/internal/egress"
)

// refusalOf returns the refusal of an address, nil when it is permitted.
func refusalOf(t *testing.T, err error) *egress.Refusal {
	t.Helper()
	var refusal *egress.Refusal
	if err != nil && !errors.As(err, &refusal) {
		t.Fatalf("%v is no refusal", err)
	}
	return refusal
}

func TestEveryMetadataAddressIsRefused(t *testing.T) {
	t.Parallel()
	guard := egress.New(everything())
	for _, address := range []string{
		"169.254.169.254", "169.254.169.253", "169.254.169.123", "169.254.170.2", "169.254.170.23", "fd00:ec2::254",
		"fd00:ec2::253", "fd00:ec2::123", "fd00:ec2::23", "fd20:ce::254", "168.63.129.16", "100.100.100.200",
		"169.254.0.23", "169.254.10.10", "169.254.42.42", "fd00:42::42", "192.0.0.192", "fd00:c1::a9fe:a9fe", "fe80::a9fe:a9fe",
	} {
		err := guard.CheckHost(address, 0)
		if want := address + " is a cloud metadata address, which is never reached"; err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestRefusalNamesItsTarget(t *testing.T) {
	t.Parallel()
	guard := egress.New(egress.Policy{})
	for want, err := range map[string]error{
		"10.0.0.1:80":         guard.Check("tcp", "10.0.0.1:80"),
		"10.0.0.1:1":          guard.Check("tcp", "10.0.0.1:1"),
		"10.0.0.1":            guard.CheckHost("10.0.0.1", 0),
		"[fe80::1%eth0]:80":   guard.CheckHost("[fe80::1%eth0]", 80),
		"127.0.0.1:81":        guard.CheckHost("a.Localhost.", 81),
		"[::ffff:10.0.0.1]:1": guard.Check("tcp", "[::ffff:10.0.0.1]:1"),
	} {
		if refusal := refusalOf(t, err); refusal == nil || refusal.Target != want || refusal.Never {
			t.Errorf("%v, want a refusal of %s that a setting can lift", err, want)
		}
	}
	var refusal *egress.Refusal
	if err := guard.Check("tcp", "no address"); err == nil || errors.As(err, &refusal) ||
		!strings.HasPrefix(err.Error(), "egress: not an address with a port") {
		t.Errorf("what is no address gave %v", err)
	}
}

func TestRefusalSaysWhatASettingCanLift(t *testing.T) {
	t.Parallel()
	guard := egress.New(egress.Policy{Refused: []netip.AddrPort{netip.MustParseAddrPort("93.184.216.34:25")}})
	const public = ", and this instance reaches public addresses only; its operator can permit it with " + egress.Setting
	for address, want := range map[string]string{
		"127.0.0.1:80":     " is a loopback address" + public,
		"169.254.1.1:80":   " is a link-local address" + public,
		"192.168.0.1:80":   " is a private address" + public,
		"100.64.0.1:80":    " is a private address" + public,
		"100.127.255.9:80": " is a private address" + public,
		"198.18.0.1:80":    " is a reserved address" + public,
		"0.0.0.0:80":       " is not an address of a host, which is never reached",
		"0.9.9.9:80":       " is not an address of a host, which is never reached",
		"224.0.0.1:80":     " is a multicast or broadcast address, which is never reached",
		"93.184.216.34:25": " is a port of the platform itself, which is never reached",
	} {
		if err := guard.Check("tcp", address); err == nil || err.Error() != address+want {
			t.Errorf("got %v, want %s", err, address+want)
		}
	}
	for _, address := range []string{"1.0.0.1:53", "93.184.216.34:80", "100.63.0.1:80"} {
		if err := guard.Check("tcp", address); err != nil {
			t.Errorf("%s is public: %v", address, err)
		}
	}
}

// TestStrictestRefusalOfAnEmbeddedAddress uses Teredo addresses, which hold a
// server's address and the inverted one of a client.
func TestStrictestRefusalOfAnEmbeddedAddress(t *testing.T) {
	t.Parallel()
	guard := egress.New(egress.Policy{})
	const metadata, multicast, loopback = "a cloud metadata address", "a multicast or broadcast address", "a loopback address"
	for address, want := range map[string]string{
		"2001:0:a00:1::5601:5601":     metadata, // private, metadata
		"2001:0:a9fe:a9fe::f5ff:fffe": metadata, // metadata, private
		"2001:0:a9fe:a9fe::1fff:fffe": metadata, // metadata, multicast: the first of two
		"2001:0:e000:1::5601:5601":    multicast,
	} {
		if err := guard.CheckHost(address, 0); err == nil || err.Error() != address+" is "+want+", which is never reached" {
			t.Errorf("%s: %v, want %s", address, err, want)
		}
	}
	address := "2001:0:7f00:1::f5ff:fffe" // loopback, private: the first of two
	want := address + " is " + loopback + ", and this instance reaches public addresses only; " +
		"its operator can permit it with " + egress.Setting
	if err := guard.CheckHost(address, 0); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestOwnPortsInOtherForms(t *testing.T) {
	t.Parallel()
	policy := everything()
	policy.Refused = []netip.AddrPort{
		netip.MustParseAddrPort("[::ffff:10.9.8.7]:5433"), netip.MustParseAddrPort("[::]:5432"),
		netip.MustParseAddrPort("127.0.0.1:1"), netip.MustParseAddrPort("127.0.0.1:0"),
	}
	guard := egress.New(policy)
	for address, permitted := range map[string]bool{
		"10.9.8.7:5433": false, "127.0.0.1:5432": false, "127.0.0.1:1": false, "10.9.8.8:5433": true, "10.9.8.7:5432": true,
	} {
		refusal := refusalOf(t, guard.Check("tcp", address))
		if (refusal == nil) != permitted || refusal != nil && !refusal.Never {
			t.Errorf("%s: %v, permitted should be %v", address, refusal, permitted)
		}
	}
	if err := guard.CheckHost("127.0.0.1", 0); err != nil {
		t.Errorf("port 0 stands for none: %v", err)
	}
	narrow := egress.New(egress.Policy{Refused: policy.Refused})
	if refusal := refusalOf(t, narrow.Check("tcp", "127.0.0.1:1")); refusal == nil || refusal.Never {
		t.Errorf("%v, want what forbids every port of the address", refusal)
	}
}
