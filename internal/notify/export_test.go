// SPDX-License-Identifier: Apache-2.0

package notify

import "github.com/vigil-monitor/vigil"

// FormatRow is what the document says of a format.
type FormatRow struct {
	Kind                   vigil.ChannelType
	Name                   string
	Hosts, Required, Other []string
}

// FormatRows returns the formats of all types, in their order.
func FormatRows() []FormatRow {
	return append(append(rowsOf(vigil.ChannelChat, chatFormats()), rowsOf(vigil.ChannelPush, pushFormats())...),
		rowsOf(vigil.ChannelPager, pagerFormats())...)
}

func rowsOf[C any](kind vigil.ChannelType, formats []format[C]) []FormatRow {
	rows := make([]FormatRow, len(formats))
	for i, f := range formats {
		rows[i] = FormatRow{Kind: kind, Name: f.name, Hosts: f.hosts, Required: f.takes[:f.required], Other: f.takes[f.required:]}
	}
	return rows
}
