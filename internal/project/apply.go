// SPDX-License-Identifier: Apache-2.0

package project

import (
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/internal/maintenance"
	"github.com/vigil-monitor/vigil/internal/overview"
	"github.com/vigil-monitor/vigil/internal/subscription"
)

// ApplyRequest selects what an apply of a project works on.
type ApplyRequest struct {
	OrgID   uuid.UUID
	Project string
	// Names and IDs are definitions outside of the project that are read, too.
	Names map[Kind][]string
	IDs   map[Kind][]uuid.UUID
	// Slugs are those of the document's status pages.
	Slugs []string
	// DryRun stores nothing, and waits for no other apply.
	DryRun bool
	Plan   account.Plan
	Allow  account.Allowance
}

// Inventory is what is stored of a project and of what its document refers to.
type Inventory struct {
	Channels []vigil.Channel
	Checks   []vigil.Check // without their health
	Rules    []vigil.Rule  // also those of the project's checks that it does not manage
	Pages    []overview.StatusPage
	Windows  []maintenance.Window
	// Subscriptions are those of the project.
	Subscriptions []subscription.Subscription
	// Subscribers are subscriptions outside of the project that name one of its channels.
	Subscribers []subscription.Subscription
	// Users are rules outside of the project that notify one of its channels.
	Users []vigil.Rule
	// Fallbacks are the channels that the read channels fall back to, over others too, each with
	// the one that it falls back to itself. Those without a fallback are left out.
	Fallbacks map[uuid.UUID]uuid.UUID
	// Slugs are the status pages, of any organization, that have a slug of the document.
	Slugs map[string]uuid.UUID
	// Outside says who made the newest version of a definition that apply did not make.
	Outside map[uuid.UUID]OutsideChange
}

// OutsideChange is a change that was not made by apply.
type OutsideChange struct {
	By string // address or name of the user; may be empty
	At time.Time
}

// Edit creates (Before is nil), deletes (After is nil) or changes a definition.
type Edit[T any] struct {
	Before, After *T
	Members       []string // that differ, for the audit log
}

// Changes are the edits of a changeset.
type Changes struct {
	Channels []Edit[vigil.Channel]
	Checks   []Edit[vigil.Check]
	Rules    []Edit[vigil.Rule]
	Pages    []Edit[overview.StatusPage]
	Windows  []Edit[maintenance.Window]

	Subscriptions []Edit[subscription.Subscription]
	// Current are the definitions of the document that are stored already. Their present
	// version becomes the one that was applied.
	Current map[Kind][]uuid.UUID
}

// Applied is what an apply did.
type Applied struct {
	Checks []vigil.CheckEdit // also those whose rules alone changed
	// ExecutionsBefore and ExecutionsAfter are what the organization's enabled checks need
	// in an hour.
	ExecutionsBefore, ExecutionsAfter float64
}
