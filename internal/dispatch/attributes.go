// SPDX-License-Identifier: Apache-2.0

package dispatch

import (
	"github.com/google/uuid"
	"go.temporal.io/sdk/temporal"

	"github.com/vigil-monitor/vigil/workflows"
)

// The search attributes of Vigil's workflows, all keywords. They are set at the
// start. AttributeDelivery changes later: it is pending, retrying, or the outcome of
// the last delivery; and so does AttributeCheckName of a loop whose check is renamed.
const (
	AttributeOrg      = "VigilOrg"
	AttributeCheck    = "VigilCheck"
	AttributeRegion   = "VigilRegion"
	AttributeIncident = workflows.AttributeIncident
	AttributeChannel  = "VigilChannel"
	AttributeDelivery = workflows.AttributeDelivery
	// AttributeCheckName is set while Names are shown.
	AttributeCheckName = workflows.AttributeCheckName
)

// SearchAttributes are the names that a namespace needs, all of type Keyword.
func SearchAttributes() []string {
	return []string{
		AttributeOrg, AttributeCheck, AttributeRegion,
		AttributeIncident, AttributeChannel, AttributeDelivery, AttributeCheckName,
	}
}

// loopAttributes are the search attributes of a loop, and of a test on demand.
func loopAttributes(org, check uuid.UUID, region string) temporal.SearchAttributes {
	return temporal.NewSearchAttributes(
		keyword(AttributeOrg, org), keyword(AttributeCheck, check),
		temporal.NewSearchAttributeKeyKeyword(AttributeRegion).ValueSet(region),
	)
}

func keyword(name string, id uuid.UUID) temporal.SearchAttributeUpdate {
	return temporal.NewSearchAttributeKeyKeyword(name).ValueSet(id.String())
}
