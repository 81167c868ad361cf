// SPDX-License-Identifier: Apache-2.0

package vigil

import (
	"time"

	"github.com/google/uuid"
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
	Plan   Plan
	Allow  Allowance
}

// Inventory is what is stored of a project and of what its document refers to.
type Inventory struct {
	Channels []Channel
	Checks   []Check // without their health
	Rules    []Rule  // also those of the project's checks that it does not manage
	Pages    []StatusPage
	Windows  []MaintenanceWindow
	// Users are rules outside of the project that notify one of its channels.
	Users []Rule
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
	Channels []Edit[Channel]
	Checks   []Edit[Check]
	Rules    []Edit[Rule]
	Pages    []Edit[StatusPage]
	Windows  []Edit[MaintenanceWindow]
	// Current are the definitions of the document that are stored already. Their present
	// version becomes the one that was applied.
	Current map[Kind][]uuid.UUID
}

// Applied is what an apply did.
type Applied struct {
	Checks []CheckEdit // also those whose rules alone changed
	// ExecutionsBefore and ExecutionsAfter are what the organization's enabled checks need
	// in an hour.
	ExecutionsBefore, ExecutionsAfter float64
}
