// SPDX-License-Identifier: Apache-2.0

package canary

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
)

// noCanaries is the value that switches canaries off, and maxCanaries how many there may be.
const (
	noCanaries  = "off"
	maxCanaries = 8
)

// List are canaries as a setting names them: servers as host:port.
type List []string

// UnmarshalText reads servers with commas, or off. Its error completes a sentence that begins with
// the name of the setting.
func (c *List) UnmarshalText(text []byte) error {
	*c = nil
	if string(text) == noCanaries {
		return nil
	}
	for part := range strings.SplitSeq(string(text), ",") {
		part = strings.TrimSpace(part)
		host, port, err := net.SplitHostPort(part)
		if err != nil || host == "" || strings.ContainsAny(host, " /@") {
			return fmt.Errorf("holds %q; it must be host:port with commas, such as 1.1.1.1:53,[2606:4700:4700::1111]:53, or off", part)
		}
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 || strconv.FormatUint(n, 10) != port {
			return fmt.Errorf("holds %q; its port must be a number from 1 to 65535", part)
		}
		if !slices.Contains(*c, part) {
			*c = append(*c, part)
		}
	}
	if len(*c) > maxCanaries {
		return fmt.Errorf("has %d servers; it must have at most %d", len(*c), maxCanaries)
	}
	return nil
}
