// SPDX-License-Identifier: Apache-2.0

package notify

import "github.com/vigil-monitor/vigil"

// FormatRow is what the document says of a format.
type FormatRow struct {
	FormatInfo

	Kind vigil.ChannelType
}

// FormatRows returns the formats of all types: chats, push services, pagers.
func FormatRows() []FormatRow {
	var rows []FormatRow
	all := NewRegistry(nil).Describe()
	for _, kind := range []vigil.ChannelType{vigil.ChannelChat, vigil.ChannelPush, vigil.ChannelPager} {
		for _, info := range all {
			for _, format := range info.Formats {
				if info.Type == kind {
					rows = append(rows, FormatRow{FormatInfo: format, Kind: kind})
				}
			}
		}
	}
	return rows
}
