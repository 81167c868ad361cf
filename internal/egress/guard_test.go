// SPDX-License-Identifier: Apache-2.0

package egress_test

import (
	"errors"
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/vigil-monitor/vigil/internal/egress"
)

// everything permits all that a setting can permit.
func everything() egress.Policy {
	return egress.Policy{AllowPrivate: true, AllowedCIDRs: []netip.Prefix{
		netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0"),
	}}
}

func TestPublicPolicy(t *testing.T) {
	t.Parallel()
	guard := egress.New(egress.Policy{})
	for address, kind := range map[string]string{
		"127.0.0.1:80":                        "loopback",
		"127.1.2.3:80":                        "loopback",
		"[::1]:80":                            "loopback",
		"0.0.0.0:80":                          "not an address",
		"0.1.2.3:80":                          "not an address",
		"[::]:80":                             "not an address",
		"10.0.0.1:80":                         "private",
		"172.16.0.1:80":                       "private",
		"172.31.255.255:80":                   "private",
		"192.168.1.1:443":                     "private",
		"100.64.0.1:80":                       "private",
		"[fc00::1]:80":                        "private",
		"[fdff::1]:80":                        "private",
		"169.254.1.1:80":                      "link-local",
		"[fe80::1]:80":                        "link-local",
		"[fe80::1%eth0]:80":                   "link-local",
		"169.254.169.254:80":                  "metadata",
		"[fd00:ec2::254]:80":                  "metadata",
		"[fd20:ce::254]:80":                   "metadata",
		"168.63.129.16:80":                    "metadata",
		"100.100.100.200:80":                  "metadata",
		"192.0.0.192:80":                      "metadata",
		"169.254.170.2:80":                    "metadata",
		"[fe80::a9fe:a9fe%eth0]:80":           "metadata",
		"192.0.2.1:80":                        "reserved",
		"198.18.0.1:80":                       "reserved",
		"203.0.113.9:80":                      "reserved",
		"240.0.0.1:80":                        "reserved",
		"255.255.255.255:80":                  "broadcast",
		"224.0.0.1:80":                        "multicast",
		"[ff02::1]:80":                        "multicast",
		"[2001:db8::1]:80":                    "reserved",
		"[fec0::1]:80":                        "reserved",
		"[100::1]:80":                         "reserved",
		"[3fff::1]:80":                        "reserved",
		"[::ffff:127.0.0.1]:80":               "loopback",
		"[::ffff:7f00:1]:80":                  "loopback",
		"[::ffff:169.254.169.254]:80":         "metadata",
		"[::127.0.0.1]:80":                    "loopback",
		"[::ffff:0:10.0.0.1]:80":              "private",
		"[64:ff9b::127.0.0.1]:80":             "loopback",
		"[64:ff9b::a9fe:a9fe]:80":             "metadata",
		"[64:ff9b:1::10.0.0.1]:80":            "private",
		"[64:ff9b:1:a9fe:a9:fe00::]:80":       "metadata",
		"[2002:7f00:1::1]:80":                 "loopback",
		"[2002:a9fe:a9fe::1]:80":              "metadata",
		"[2002:5db8:d822::1]:80":              "reserved",
		"[2001:0:5db8:d822::80ff:fffe]:80":    "loopback",
		"[2001:0:a9fe:a9fe:0:0:a247:27dd]:80": "metadata",
		"[fe80::5efe:10.0.0.1]:80":            "private",
		"[2600::5efe:169.254.169.254]:80":     "metadata",
		"[2600::200:5efe:192.168.0.1]:80":     "private",
	} {
		err := guard.Check("tcp", address)
		var refusal *egress.Refusal
		if !errors.As(err, &refusal) || !strings.Contains(err.Error(), kind) {
			t.Errorf("%s: %v, want a refusal as %s", address, err, kind)
			continue
		}
		if !refusal.Never && !strings.Contains(err.Error(), egress.Setting) {
			t.Errorf("%s: the refusal does not name the setting: %v", address, err)
		}
	}
	for _, address := range []string{
		"93.184.216.34:443", "1.1.1.1:53", "[2606:4700:4700::1111]:443", "[::ffff:93.184.216.34]:80",
		"[64:ff9b::5db8:d822]:80", "172.32.0.1:80", "100.128.0.1:80", "11.0.0.1:80",
	} {
		if err := guard.Check("tcp", address); err != nil {
			t.Errorf("%s is public: %v", address, err)
		}
	}
}

func TestPrivatePolicy(t *testing.T) {
	t.Parallel()
	guard := egress.New(egress.Policy{AllowPrivate: true})
	for _, address := range []string{
		"127.0.0.1:80", "[::1]:80", "10.0.0.1:80", "192.168.0.1:80", "100.64.0.1:80", "[fd12::1]:80", "[::ffff:127.0.0.1]:80",
	} {
		if err := guard.Check("tcp", address); err != nil {
			t.Errorf("%s: %v", address, err)
		}
	}
	for _, address := range []string{"169.254.1.1:80", "[fe80::1]:80", "0.0.0.0:80", "203.0.113.1:80"} {
		if guard.Check("tcp", address) == nil {
			t.Errorf("%s is neither public nor private, and was permitted", address)
		}
	}
}

func TestAllowedCIDRs(t *testing.T) {
	t.Parallel()
	guard := egress.New(egress.Policy{AllowedCIDRs: []netip.Prefix{
		netip.MustParsePrefix("10.20.0.0/16"), netip.MustParsePrefix("fe80::/10"),
	}})
	for address, permitted := range map[string]bool{
		"10.20.3.4:80": true, "[::ffff:10.20.3.4]:80": true, "[fe80::1%eth0]:80": true,
		"10.21.0.1:80": false, "127.0.0.1:80": false, "[fe80::a9fe:a9fe%eth0]:80": false,
	} {
		if err := guard.Check("tcp", address); (err == nil) != permitted {
			t.Errorf("%s: %v", address, err)
		}
	}
}

func TestNothingPermitsMetadata(t *testing.T) {
	t.Parallel()
	guard := egress.New(everything())
	for _, address := range []string{
		"169.254.169.254:80", "169.254.169.253:53", "169.254.170.2:80", "169.254.170.23:80", "[fd00:ec2::254]:80",
		"[fd00:ec2::23]:80", "[fd20:ce::254]:80", "168.63.129.16:32526", "100.100.100.200:80", "169.254.0.23:80",
		"169.254.42.42:80", "[fd00:42::42]:80", "192.0.0.192:80", "[fd00:c1::a9fe:a9fe]:80", "[fe80::a9fe:a9fe%2]:80",
		"[::ffff:169.254.169.254]:80", "[64:ff9b::169.254.169.254]:80", "[2002:a9fe:a9fe::]:80", "[::169.254.169.254]:80",
		"[::ffff:0:169.254.169.254]:80", "0.0.0.0:80", "[::]:80", "224.0.0.1:80", "255.255.255.255:80",
	} {
		err := guard.Check("udp", address)
		var refusal *egress.Refusal
		if !errors.As(err, &refusal) || !refusal.Never {
			t.Errorf("%s: %v", address, err)
		}
		if err != nil && strings.Contains(err.Error(), egress.Setting) {
			t.Errorf("%s: names a setting that would not help: %v", address, err)
		}
	}
}

func TestOwnPorts(t *testing.T) {
	t.Parallel()
	policy := everything()
	policy.Refused = []netip.AddrPort{
		netip.MustParseAddrPort("127.0.0.1:7233"), netip.MustParseAddrPort("0.0.0.0:5432"), netip.MustParseAddrPort("10.9.8.7:5433"),
	}
	guard := egress.New(policy)
	cases := map[string]bool{
		"127.0.0.1:7233": false, "127.9.9.9:7233": false, "[::1]:7233": false, "[::ffff:127.0.0.1]:7233": false,
		"127.0.0.1:5432": false, "10.9.8.7:5433": false, "[::ffff:10.9.8.7]:5433": false,
		"127.0.0.1:80": true, "10.9.8.8:5433": true, "127.0.0.1:5433": true, "93.184.216.34:7233": true,
	}
	list, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, item := range list {
		addr := netip.MustParsePrefix(item.String()).Addr()
		cases[netip.AddrPortFrom(addr, 7233).String()] = false
	}
	for address, permitted := range cases {
		if err := guard.Check("tcp", address); (err == nil) != permitted {
			t.Errorf("%s: %v, permitted should be %v", address, err, permitted)
		}
	}
}

func TestCheckHost(t *testing.T) {
	t.Parallel()
	guard := egress.New(egress.Policy{})
	for host, permitted := range map[string]bool{
		"127.0.0.1": false, "[::1]": false, "localhost": false, "LOCALHOST.": false, "a.localhost": false,
		"example.com": true, "localhost.example.com": true, "93.184.216.34": true,
	} {
		if err := guard.CheckHost(host, 80); (err == nil) != permitted {
			t.Errorf("%s: %v", host, err)
		}
	}
	if err := guard.Check("tcp", "example.com:80"); err == nil {
		t.Error("a name was judged as if it were an address")
	}
}

func FuzzCheck(f *testing.F) {
	f.Add("127.0.0.1:80")
	f.Add("[64:ff9b::7f00:1%x]:1")
	public, all := egress.New(egress.Policy{}), egress.New(everything())
	f.Fuzz(func(t *testing.T, address string) {
		if public.Check("tcp", address) == nil && all.Check("tcp", address) != nil {
			t.Errorf("%s: the wider policy refuses what the narrower permits", address)
		}
	})
}
