// SPDX-License-Identifier: Apache-2.0

package statuspage

import (
	"fmt"
	"strings"

	"github.com/vigil-monitor/vigil/internal/overview"
)

// The box of the bars of a service, in units of its SVG: one column for each day. The style dashes
// the lines of whole days by these figures.
const (
	columnWidth = 7
	barWidth    = 5
	barHeight   = 24
	barGap      = 2
)

// bars are the paths of the bars of a service: equal heights, of which the failing share
// hangs from the top. Days that are wholly up, and those without data, are dashed lines, since most
// days are and a page has many.
type bars struct {
	Up, None   string // lines
	Part, Down string // areas
	Label      string
	Name       string // of the service
}

// barsOf draws days, the oldest first. A failing share is drawn a third high at least, so
// that one minute of a day is seen.
func barsOf(days []overview.DayCount) bars {
	var up, part, down, none strings.Builder
	for i := 0; i < len(days); i++ {
		day, x := days[i], i*columnWidth
		if day.Failed == 0 {
			line, y := &up, fmt.Sprint(barHeight/2)
			if day.Total == 0 {
				line, y = &none, fmt.Sprintf("%.2f", barHeight-1.25)
			}
			for i+1 < len(days) && days[i+1].Failed == 0 && (days[i+1].Total == 0) == (day.Total == 0) {
				i++
			}
			fmt.Fprintf(line, "M%d %sH%d", x, y, i*columnWidth+barWidth)
			continue
		}
		top := max(barHeight/3, int(int64(barHeight)*day.Failed/day.Total))
		if barHeight-top <= barGap+1 {
			top = barHeight
		}
		fmt.Fprintf(&down, "M%d 0h%dv%dh-%dz", x, barWidth, top, barWidth)
		if top += barGap; top < barHeight {
			fmt.Fprintf(&part, "M%d %dh%dv%dh-%dz", x, top, barWidth, barHeight-top, barWidth)
		}
	}
	return bars{Up: up.String(), Part: part.String(), Down: down.String(), None: none.String()}
}
