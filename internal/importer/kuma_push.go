// SPDX-License-Identifier: Apache-2.0

package importer

import (
	"fmt"
	"time"

	"github.com/vigil-monitor/vigil"
)

// kumaPushed is the type of a monitor to which results are pushed.
const kumaPushed = "push"

// kumaPush is a heartbeat. Without a push Kuma is pending after the interval, and looks again for each of
// the retries; it waits a second longer than it says.
func kumaPush(m kumaRow) (func(*Resource), vigil.CheckType, string) {
	return func(c *Resource) {
		grace := minGrace
		if retries := m.whole("maxretries", 0); retries > 0 {
			const most = int64(maxGrace / time.Second)
			retry := m.whole("retry_interval", 0)
			if retry <= 0 {
				retry = int64(kumaInterval(m) / time.Second)
			}
			grace = time.Duration(min(min(retries, most)*min(retry, most), most)) * time.Second
			c.Lose(fmt.Sprintf("maxretries: %d", retries),
				"they are the grace of %s in which a ping may come later; a failure that the job reports counts at once", seconds(grace))
		}
		c.setHeartbeat(kumaInterval(m), grace)
		c.losePingAddress("push_token", "status=down of Kuma is /fail behind it")
	}, vigil.TypeHeartbeat, ""
}
