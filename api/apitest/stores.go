// SPDX-License-Identifier: Apache-2.0

package apitest

import (
	"github.com/vigil-monitor/vigil/api"
	"github.com/vigil-monitor/vigil/storage"
)

// Stores returns one store for each part of the API. A test that wants another one for a part
// sets that field afterwards.
func Stores(s *storage.Store) api.Stores {
	return api.Stores{
		Accounts: s, Checks: s, Alerts: s, Backtests: s, Apply: s, Loops: s, Events: s, Rates: s, Repeats: s, Audit: s, Keys: s, System: s,
		Pings:    s,
		Notified: s,
		Agents:   s,
	}
}
