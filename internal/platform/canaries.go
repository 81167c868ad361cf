// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vigil-monitor/vigil/activities"
	"github.com/vigil-monitor/vigil/internal/canary"
	"github.com/vigil-monitor/vigil/internal/egress"
)

// noCanaries is the value that switches canaries off, and maxCanaries how many there may be.
const (
	noCanaries  = "off"
	maxCanaries = 8
)

// canaryList are servers as host:port.
type canaryList []string

func (c *canaryList) UnmarshalText(text []byte) error {
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

// newLine returns what this process knows of its line, nil when that is off. The canaries are
// reached by the guard of the probes, so one that may not be probed never answers: the error names
// the first one whose address says so.
func newLine(p *Process, canaries canaryList, guard *egress.Guard, catalogue *activities.Catalogue) (*canary.Line, error) {
	for _, address := range canaries {
		if to, err := netip.ParseAddrPort(address); err == nil {
			if err := guard.Check("tcp", to.String()); err != nil {
				return nil, wrongSetting("VIGIL_CANARIES", fmt.Errorf("holds %q, which cannot be asked: %w", address, err))
			}
		}
	}
	return canary.New(canary.Options{
		Canaries: canaries, Guard: guard, Probes: catalogue.HasTarget, Now: time.Now, Log: p.Log,
	}), nil
}

// watchLine runs the questions to the canaries until ctx ends, and shows what is known of them.
func (p *Platform) watchLine(ctx context.Context, line *canary.Line) {
	go line.Run(ctx)
	p.metrics.Gauge("vigil_blind", func() int64 {
		if line.Blind() {
			return 1
		}
		return 0
	})
}
