// SPDX-License-Identifier: Apache-2.0

package resource

// The tags of the operations, under which the OpenAPI document shows them.
const (
	TagAccount      = "Account"
	TagAgents       = "Agents"
	TagApply        = "Monitoring as code"
	TagChannels     = "Notification channels"
	TagChecks       = "Checks"
	TagDeliveries   = "Deliveries"
	TagDrills       = "Drills"
	TagIncidents    = "Incidents"
	TagKeys         = "API keys"
	TagLocations    = "Locations"
	TagMaintenance  = "Maintenance"
	TagMembers      = "Members"
	TagOrganization = "Organization"
	TagReports      = "Reports"
	TagResults      = "Results"
	TagRules        = "Alert rules"
	TagStatusPages  = "Status pages"
	TagStream       = "Alert stream"
	TagSystem       = "System"

	TagSubscriptions = "Subscriptions"
)
