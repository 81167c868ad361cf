// SPDX-License-Identifier: Apache-2.0

package importer

import (
	"cmp"
	"slices"
)

// kumaData is what a backup or a database of Uptime Kuma holds.
type kumaData struct {
	version string // of the program that wrote a backup; empty for a database
	backup  bool   // it is JSON that Kuma wrote, which lacks much of what the database has
	list    bool   // it is a list of monitors, or files of AutoKuma
	// monitors have, besides their columns, their tags under kumaTags and the ids of their
	// notifications under kumaNotifications.
	monitors []kumaRow
	// notifications have their config decoded under kumaConfig.
	notifications []kumaRow
	// maintenance has the ids of its monitors under kumaMonitors.
	maintenance []kumaRow
	// pages have their groups under kumaGroups, and those the ids of their monitors under
	// kumaMonitors.
	pages   []kumaRow
	proxies map[int64]kumaRow // by their ids
	// unknown are the names of notifications that are named and not there, by the ids that stand for them.
	unknown  map[int64]string
	settings map[string]string
	// others counts rows of tables that are not carried over, by their names.
	others map[string]int64
}

// Members of rows that are not columns.
const (
	kumaTags          = "+tags"
	kumaNotifications = "+notifications"
	kumaConfig        = "+config"
	kumaMonitors      = "+monitors"
	kumaGroups        = "+groups"
	kumaDomains       = "+domains"
	kumaPages         = "+pages"
)

// ids returns a member that has ids.
func (r kumaRow) ids(name string) []int64 {
	ids, _ := r[name].([]int64)
	return ids
}

// below returns a member that has rows.
func (r kumaRow) below(name string) []kumaRow {
	rows, _ := r[name].([]kumaRow)
	return rows
}

// sortByID puts rows in the order in which they were made.
func sortByID(rows []kumaRow) {
	slices.SortStableFunc(rows, func(a, b kumaRow) int { return cmp.Compare(a.id("id"), b.id("id")) })
}

// sortByWeight puts rows in the order in which a status page shows them.
func sortByWeight(rows []kumaRow) {
	slices.SortStableFunc(rows, func(a, b kumaRow) int {
		return cmp.Or(cmp.Compare(a.whole("weight", 1000), b.whole("weight", 1000)), cmp.Compare(a.id("id"), b.id("id")))
	})
}
