// SPDX-License-Identifier: Apache-2.0

package pg

import (
	"github.com/uptrace/bun"

	"github.com/vigil-monitor/vigil"
)

// WhereLabels adds the selectors of labels to a query; alias is that of the table.
func WhereLabels(query *bun.SelectQuery, alias string, selectors []vigil.LabelSelector) *bun.SelectQuery {
	for _, selector := range selectors {
		if selector.Value == nil {
			query = query.Where(`?.labels \? ?`, bun.Ident(alias), selector.Key)
			continue
		}
		query = query.Where("?.labels @> jsonb_build_object(?::text, ?::text)", bun.Ident(alias), selector.Key, *selector.Value)
	}
	return query
}
