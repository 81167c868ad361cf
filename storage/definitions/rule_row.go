// SPDX-License-Identifier: Apache-2.0

package definitions

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// RuleRow is an alert rule as Postgres stores it.
type RuleRow struct {
	bun.BaseModel `bun:"table:alert_rules,alias:ar"`

	ID         uuid.UUID       `bun:"id,pk,type:uuid" json:"id"`
	OrgID      uuid.UUID       `bun:"org_id,type:uuid" json:"org_id"`
	CheckID    uuid.UUID       `bun:"check_id,type:uuid" json:"check_id"`
	Name       string          `bun:"name" json:"name"`
	Condition  json.RawMessage `bun:"condition,type:jsonb" json:"condition"`
	ChannelIDs []uuid.UUID     `bun:"channel_ids,array" json:"channel_ids"`
	NotifyOn   string          `bun:"notify_on" json:"notify_on"`
	Policy     string          `bun:"region_policy" json:"region_policy"`
	IfOpen     bool            `bun:"notify_if_open" json:"notify_if_open"`
	Unobserved string          `bun:"unobserved" json:"unobserved"`
	Enabled    bool            `bun:"enabled" json:"enabled"`
	Labels     vigil.Labels    `bun:"labels,type:jsonb" json:"labels"`
	Version    int64           `bun:"version" json:"version"`
	CreatedAt  time.Time       `bun:"created_at" json:"created_at"`
	UpdatedAt  time.Time       `bun:"updated_at" json:"updated_at"`

	ManagedRow
}

// Rule returns the rule of a row.
func (r *RuleRow) Rule() (vigil.Rule, error) {
	out := vigil.Rule{
		ID:             r.ID,
		OrgID:          r.OrgID,
		CheckID:        r.CheckID,
		Name:           r.Name,
		Channels:       r.ChannelIDs,
		NotifyOn:       vigil.NotifyOn(r.NotifyOn),
		NotifyIfOpen:   r.IfOpen,
		Unobserved:     vigil.OnUnobserved(r.Unobserved),
		Policy:         vigil.RegionPolicy(r.Policy),
		Enabled:        r.Enabled,
		Labels:         LabelsOf(r.Labels),
		Version:        r.Version,
		CreatedAt:      r.CreatedAt.UTC(),
		UpdatedAt:      r.UpdatedAt.UTC(),
		ManagedBy:      r.ManagedBy(),
		AppliedVersion: r.Applied,
	}
	if err := json.Unmarshal(r.Condition, &out.Condition); err != nil {
		return vigil.Rule{}, fmt.Errorf("read the condition of rule %s: %w", r.ID, err)
	}
	return out, nil
}

// RowOfRule returns the row of a rule.
func RowOfRule(r *vigil.Rule) (*RuleRow, error) {
	condition, err := json.Marshal(r.Condition)
	if err != nil {
		return nil, fmt.Errorf("encode the condition: %w", err)
	}
	return &RuleRow{
		ID: r.ID, OrgID: r.OrgID, CheckID: r.CheckID, Name: r.Name, Condition: condition, ChannelIDs: r.Channels,
		NotifyOn: string(r.NotifyOn), IfOpen: r.NotifyIfOpen, Unobserved: string(cmp.Or(r.Unobserved, vigil.UnobservedIgnore)),
		Policy: string(r.Policy), Enabled: r.Enabled, Labels: storedLabels(r.Labels),
		Version: r.Version, CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt,
		ManagedRow: ManagedColumns(r.ManagedBy, r.AppliedVersion),
	}, nil
}

// RulesOf returns the rules of rows, in their order.
func RulesOf(rows []RuleRow) ([]vigil.Rule, error) {
	return pg.TryMap(rows, (*RuleRow).Rule)
}

// ReadRule reads a rule of a check of the organization. An unknown one is a CodeNotFound error.
func ReadRule(ctx context.Context, db bun.IDB, orgID, checkID, id uuid.UUID) (vigil.Rule, error) {
	var row RuleRow
	err := db.NewSelect().Model(&row).Where("ar.id = ? AND ar.check_id = ? AND ar.org_id = ?", id, checkID, orgID).Scan(ctx)
	if err != nil {
		return vigil.Rule{}, pg.Found("rule", err)
	}
	rule, err := row.Rule()
	return rule, pg.Wrap("read rule", err)
}

// SameRule reports whether two versions of a rule say the same.
func SameRule(a, b *vigil.Rule) bool {
	return a.Name == b.Name && reflect.DeepEqual(a.Condition, b.Condition) && slices.Equal(a.Channels, b.Channels) &&
		a.NotifyOn == b.NotifyOn && a.NotifyIfOpen == b.NotifyIfOpen && a.Unobserved == b.Unobserved &&
		a.Policy == b.Policy && a.Enabled == b.Enabled &&
		maps.Equal(a.Labels, b.Labels) && vigil.SameManager(a.ManagedBy, b.ManagedBy)
}
