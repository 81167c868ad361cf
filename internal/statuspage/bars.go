// SPDX-License-Identifier: Apache-2.0

package statuspage

import (
	"fmt"
	"strings"

	"github.com/vigil-monitor/vigil/internal/overview"
)

// The box of the bars of a service, in units of its SVG: one column for each day.
const (
	columnWidth = 7
	barWidth    = 5
	barHeight   = 24
	barGap      = 2
)

// bars are the paths of the bars of a service: equal heights, of which the failing share
// hangs from the top.
type bars struct {
	Up, Down, None string
	Label          string
}

// barsOf draws days, the oldest first. A failing share is drawn a third high at least, so
// that one minute of a day is seen.
func barsOf(days []overview.DayCount) bars {
	var up, down, none strings.Builder
	for i, day := range days {
		x := i * columnWidth
		if day.Total == 0 {
			fmt.Fprintf(&none, "M%d %dh%dv1.5h-%dz", x, barHeight-2, barWidth, barWidth)
			continue
		}
		top := 0
		if day.Failed > 0 {
			top = max(barHeight/3, int(int64(barHeight)*day.Failed/day.Total))
			if barHeight-top <= barGap+1 {
				top = barHeight
			}
			fmt.Fprintf(&down, "M%d 0h%dv%dh-%dz", x, barWidth, top, barWidth)
			top += barGap
		}
		if top < barHeight {
			fmt.Fprintf(&up, "M%d %dh%dv%dh-%dz", x, top, barWidth, barHeight-top, barWidth)
		}
	}
	return bars{Up: up.String(), Down: down.String(), None: none.String()}
}
