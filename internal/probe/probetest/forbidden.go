// SPDX-License-Identifier: Apache-2.0

package probetest

import "slices"

// Forbidden are ways to write an address that an instance for public targets
// must not reach, as the host of a URL: this machine, private networks, what is
// no address of a host, and the metadata services of the large providers. None
// may be accepted when it is written, by any type of check or channel.
func Forbidden() []string {
	return slices.Concat(thisMachine(), insideIPv6(), notPublic(), metadataServices())
}

// thisMachine is this machine, in the spellings that one parser or another reads.
func thisMachine() []string {
	return []string{
		"127.0.0.1",
		"127.1.2.3",
		"127.1",
		"127.0.1",
		"2130706433",
		"0x7f000001",
		"0x7F.0.0.1",
		"0177.0.0.1",
		"017700000001",
		"0000127.0.0.1",
		"127.0.0.1.",
		"0.0.0.0",
		"0",
		"0.0.0.1",
		"localhost",
		"LOCALHOST",
		"localhost.",
		"a.localhost",
		"１２７.０.０.１",
		"①②⑦.⓪.⓪.①",
		"127。0。0。1",
		"ⓛⓞⓒⓐⓛⓗⓞⓢⓣ",
		"127.0.0.1%00",
		"127.0.0.1%2e",
		"[::1]",
		"[::]",
		"[0:0:0:0:0:0:0:1]",
		"[::1%25lo]",
	}
}

// insideIPv6 are IPv4 addresses inside IPv6: mapped, compatible, translated,
// NAT64, 6to4, Teredo, ISATAP.
func insideIPv6() []string {
	return []string{
		"[::ffff:127.0.0.1]",
		"[::ffff:7f00:1]",
		"[::127.0.0.1]",
		"[::ffff:0:127.0.0.1]",
		"[64:ff9b::127.0.0.1]",
		"[64:ff9b:1::127.0.0.1]",
		"[2002:7f00:1::]",
		"[2001:0:5db8:d822::80ff:fffe]",
		"[2001:0:7f00:1::]",
		"[fe80::5efe:127.0.0.1]",
		"[::ffff:10.0.0.1]",
		"[64:ff9b::10.0.0.1]",
		"[2002:c0a8:1::]",
		"[2001:0:5db8:d822::3f57:fffe]",
	}
}

// notPublic are addresses of networks that are not public.
func notPublic() []string {
	return []string{
		"[fe80::1]",
		"[fe80::1%25eth0]",
		"[fe80::1%25lo]",
		"[fec0::1]",
		"[fc00::1]",
		"[fd00::1]",
		"[ff02::1]",
		"10.0.0.1",
		"172.16.0.1",
		"192.168.0.1",
		"100.64.0.1",
		"169.254.1.1",
		"192.0.2.1",
		"198.18.0.1",
		"224.0.0.1",
		"240.0.0.1",
		"255.255.255.255",
	}
}

// metadataServices are those of most providers, then of AWS, Google, Azure,
// Alibaba, Oracle, Tencent, Scaleway and OpenStack.
func metadataServices() []string {
	return []string{
		"169.254.169.254",
		"0xa9fea9fe",
		"2852039166",
		"0251.0376.0251.0376",
		"[::ffff:169.254.169.254]",
		"[64:ff9b::169.254.169.254]",
		"[2002:a9fe:a9fe::]",
		"169.254.170.2",
		"169.254.170.23",
		"169.254.169.253",
		"[fd00:ec2::254]",
		"[fd00:ec2::23]",
		"[fd20:ce::254]",
		"168.63.129.16",
		"100.100.100.200",
		"192.0.0.192",
		"[fd00:c1::a9fe:a9fe]",
		"169.254.0.23",
		"169.254.42.42",
		"[fd00:42::42]",
		"[fe80::a9fe:a9fe]",
	}
}
