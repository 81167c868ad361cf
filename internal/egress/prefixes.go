// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"fmt"
	"net/netip"
	"strings"
)

// Prefixes are networks, such as a setting names. A single address stands for itself.
type Prefixes []netip.Prefix

// UnmarshalText reads networks, and addresses that stand for themselves, with commas. Its error
// completes a sentence that begins with the name of the setting.
func (c *Prefixes) UnmarshalText(text []byte) error {
	*c = nil
	for part := range strings.SplitSeq(string(text), ",") {
		part = strings.TrimSpace(part)
		prefix, err := netip.ParsePrefix(part)
		if err != nil {
			addr, addrErr := netip.ParseAddr(part)
			if addrErr != nil || addr.Zone() != "" {
				return fmt.Errorf("holds %q; it must be networks such as 10.0.0.0/8,fd00::/8", part)
			}
			prefix = netip.PrefixFrom(addr, addr.BitLen())
		}
		if prefix != prefix.Masked() {
			return fmt.Errorf("holds %q, which has bits behind its mask; did you mean %s?", part, prefix.Masked())
		}
		*c = append(*c, prefix)
	}
	return nil
}
