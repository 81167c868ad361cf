// SPDX-License-Identifier: Apache-2.0

package project

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil/internal/secret"
)

// Item is a definition in the form in which a changeset compares it.
type Item struct {
	Kind Kind
	Key  string    // in managed_by
	ID   uuid.UUID // zero: not stored yet
	Name string
	// Version and Applied are those of what is stored; see Check.AppliedVersion.
	Version, Applied int64
	// Members are what files say of the definition, secrets in plaintext.
	Members Members
	// Secrets are those of the member config.
	Secrets secret.Fields
}

// outside reports whether somebody changed the item since it was applied.
func (i *Item) outside() bool { return i.Applied > 0 && i.Version > i.Applied }

// Pair is a definition as it is stored and as a document wants it. Either may be nil: what
// is not stored yet, and what is in no file any more.
type Pair struct {
	Stored, Wanted *Item
	// Adopted: what is stored was not managed before.
	Adopted bool
	Note    string
}

// Missing says what happens to definitions that are in no file any more.
type Missing string

// Values of Missing. The default is to keep them.
const (
	MissingKeep    Missing = "keep"
	MissingRelease Missing = "release"
	MissingDelete  Missing = "delete"
)

// ActionKind is what apply does to a definition.
type ActionKind string

// Kinds of actions.
const (
	ActionCreate  ActionKind = "create"
	ActionChange  ActionKind = "change"
	ActionRestore ActionKind = "restore" // undo what was changed outside of the files
	ActionDelete  ActionKind = "delete"
	ActionRelease ActionKind = "release" // stop managing it
	ActionLeave   ActionKind = "leave"   // it is in no file any more, and stays
	ActionNone    ActionKind = "none"    // it is as the files say
)

// MemberChange is a difference in one member. It never has the value of a secret.
type MemberChange struct {
	Path     string
	From, To any // nil: absent
	Secret   bool
	// Unknown: whether the secret differs was not compared.
	Unknown bool
}

// Action is what apply does, or would do, to one definition.
type Action struct {
	Kind    Kind
	Key     string
	ID      uuid.UUID // zero: not stored yet
	Name    string
	Action  ActionKind
	Members []MemberChange
	// ChangedBy and ChangedAt say who changed it outside of the files, and when, for
	// ActionRestore; empty and zero where it is not known.
	ChangedBy string
	ChangedAt time.Time
	Note      string
	// Warnings are what its author should think of.
	Warnings []string
}

// Changeset is what lies between a document and what is stored.
type Changeset struct {
	// Plan identifies the changeset: 32 hexadecimal digits. It is a hash of the actions
	// and of the versions of what they touch, long enough that no two files with the same
	// plan can be found. It does not depend on the values of secrets,
	// so that a secret cannot be found out by trying.
	Plan    string
	Actions []Action // in the order of the pairs
}

// ChangesetOptions say how to compare.
type ChangesetOptions struct {
	Project string
	Missing Missing
	// HideSecrets leaves out whether secrets differ.
	HideSecrets bool
}

// NewChangeset compares what is stored with what a document wants.
func NewChangeset(pairs []Pair, o ChangesetOptions) Changeset {
	var set Changeset
	touched := []any{o.Project, o.Missing}
	for _, pair := range pairs {
		d := differ{hide: o.HideSecrets}
		action := d.action(pair, o.Missing)
		set.Actions = append(set.Actions, action)
		if entry := d.touched(pair, action); entry != nil {
			touched = append(touched, entry)
		}
	}
	set.Plan = fingerprint(touched)
	return set
}

// fingerprint hashes what can be written as JSON.
func fingerprint(of any) string {
	text, err := json.Marshal(of)
	if err != nil {
		text = []byte(err.Error()) // members come from JSON, so that they can be written
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

func (d *differ) action(pair Pair, missing Missing) Action {
	shown := pair.Wanted
	if shown == nil {
		shown = pair.Stored
	}
	action := Action{Kind: shown.Kind, Key: shown.Key, Name: shown.Name, Note: pair.Note}
	if pair.Stored != nil {
		action.ID = pair.Stored.ID
	}
	switch {
	case pair.Wanted == nil:
		action.Action = ActionLeave
		switch missing {
		case MissingDelete:
			action.Action = ActionDelete
		case MissingRelease:
			action.Action = ActionRelease
		case MissingKeep:
		}
	case pair.Stored == nil:
		action.Action = ActionCreate
		d.members(nil, pair.Wanted)
	default:
		action.Action = ActionNone
		d.members(pair.Stored, pair.Wanted)
		d.ownership(pair)
		if slices.ContainsFunc(d.found, func(m MemberChange) bool { return !m.Unknown }) {
			action.Action = ActionChange
			if pair.Stored.outside() && !pair.Adopted {
				action.Action = ActionRestore
			}
		}
	}
	action.Members = d.found
	return action
}

// ownership adds the difference in managed_by.
func (d *differ) ownership(pair Pair) {
	switch {
	case pair.Adopted:
		d.found = append(d.found, MemberChange{Path: "managed_by.key", To: pair.Wanted.Key})
	case pair.Stored.Key != pair.Wanted.Key:
		d.found = append(d.found, MemberChange{Path: "managed_by.key", From: pair.Stored.Key, To: pair.Wanted.Key})
	}
}

// touched is what the plan's hash has of an action; nil for one that touches nothing. A
// definition with secrets always counts, since it may be changed because of them.
func (d *differ) touched(pair Pair, action Action) any {
	plain := []MemberChange{} // not nil, which is written in another way
	for _, member := range d.found {
		if !member.Secret {
			plain = append(plain, member)
		}
	}
	entry := []any{action.Kind, action.Key}
	switch action.Action {
	case ActionLeave:
		return nil
	case ActionCreate:
		return append(entry, action.Action, plain)
	case ActionDelete, ActionRelease:
		return append(entry, action.Action, pair.Stored.ID, pair.Stored.Version)
	case ActionChange, ActionRestore, ActionNone:
	}
	if len(plain) == 0 && !d.secrets {
		return nil
	}
	return append(entry, pair.Stored.ID, pair.Stored.Version, plain)
}

// MemberNames returns the names of the members that differ, without what is below them, for
// the audit log.
func (a *Action) MemberNames() []string {
	var names []string
	for _, member := range a.Members {
		name := topMember(member.Path)
		if !member.Unknown && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
