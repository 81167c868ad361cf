// SPDX-License-Identifier: Apache-2.0

package definitions

import "github.com/vigil-monitor/vigil"

// storedLabels returns labels for their column, which is never NULL.
func storedLabels(labels vigil.Labels) vigil.Labels {
	if labels == nil {
		return vigil.Labels{}
	}
	return labels
}

// LabelsOf returns the labels of a column; nil for none.
func LabelsOf(labels vigil.Labels) vigil.Labels {
	if len(labels) == 0 {
		return nil
	}
	return labels
}
