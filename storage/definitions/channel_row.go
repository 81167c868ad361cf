// SPDX-License-Identifier: Apache-2.0

package definitions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// ChannelRow is a channel as it is stored: its config is sealed.
type ChannelRow struct {
	bun.BaseModel `bun:"table:channels,alias:ch"`

	ID             uuid.UUID       `bun:"id,pk,type:uuid"`
	OrgID          uuid.UUID       `bun:"org_id,type:uuid"`
	Name           string          `bun:"name"`
	Type           string          `bun:"type"`
	Config         json.RawMessage `bun:"config,type:jsonb"`
	Enabled        bool            `bun:"enabled"`
	DisabledReason string          `bun:"disabled_reason"`
	Labels         vigil.Labels    `bun:"labels,type:jsonb"`
	Fallback       *uuid.UUID      `bun:"fallback_channel_id,type:uuid"`
	Version        int64           `bun:"version"`
	CreatedAt      time.Time       `bun:"created_at"`
	UpdatedAt      time.Time       `bun:"updated_at"`

	// FormerSecret is an object with the member secret, sealed as Config is; empty: none.
	FormerSecret        json.RawMessage `bun:"former_secret,type:jsonb,nullzero"`
	SecretOverlapEndsAt *time.Time      `bun:"secret_overlap_ends_at"`

	ManagedRow
}

// SealedChannel prepares a channel for storing.
func (s *Store) SealedChannel(c *vigil.Channel) (*ChannelRow, error) {
	if s.Keyring == nil {
		return nil, errors.New("the store has no keys to seal secrets with")
	}
	if containsNUL(c.Config) {
		return nil, errUnstorable()
	}
	sealed, err := s.Keyring.SealSecrets(s.Secrets.Channel(c.Type), c.Config)
	if err != nil {
		return nil, fmt.Errorf("seal the config: %w", err)
	}
	former, err := s.sealFormer(c)
	if err != nil {
		return nil, err
	}
	return &ChannelRow{
		FormerSecret: former, SecretOverlapEndsAt: c.SecretOverlapEndsAt,
		ID: c.ID, OrgID: c.OrgID, Name: c.Name, Type: string(c.Type), Config: sealed, Enabled: c.Enabled,
		DisabledReason: c.DisabledReason, Labels: storedLabels(c.Labels), Version: c.Version, Fallback: vigil.NilIfZero(c.Fallback),
		CreatedAt: c.CreatedAt, UpdatedAt: c.UpdatedAt,
		ManagedRow: ManagedColumns(c.ManagedBy, c.AppliedVersion),
	}, nil
}

// OpenedChannels turns stored rows into channels with their secrets in plaintext.
func (s *Store) OpenedChannels(rows []ChannelRow) ([]vigil.Channel, error) {
	if s.Keyring == nil {
		return nil, errors.New("the store has no keys to open secrets with")
	}
	channels := make([]vigil.Channel, len(rows))
	for i, r := range rows {
		config, err := s.Keyring.OpenSecrets(s.Secrets.Channel(vigil.ChannelType(r.Type)), r.Config)
		if err != nil {
			return nil, fmt.Errorf("open the config of channel %s: %w", r.ID, err)
		}
		channels[i] = vigil.Channel{
			ID: r.ID, OrgID: r.OrgID, Name: r.Name, Type: vigil.ChannelType(r.Type), Config: config, Enabled: r.Enabled,
			DisabledReason: r.DisabledReason, Labels: LabelsOf(r.Labels), Version: r.Version,
			CreatedAt: r.CreatedAt.UTC(), UpdatedAt: r.UpdatedAt.UTC(),
			ManagedBy: r.ManagedBy(), AppliedVersion: r.Applied,
		}
		if err := s.openFormer(&channels[i], &r); err != nil {
			return nil, fmt.Errorf("open the former secret of channel %s: %w", r.ID, err)
		}
		if r.Fallback != nil {
			channels[i].Fallback = *r.Fallback
		}
	}
	return channels, nil
}

// ReadChannel reads a channel of the organization by a query for channels. An unknown one is a
// CodeNotFound error.
func (s *Store) ReadChannel(ctx context.Context, query *bun.SelectQuery, orgID, id uuid.UUID) (vigil.Channel, error) {
	rows := make([]ChannelRow, 1)
	if err := query.Model(&rows[0]).Where("ch.id = ? AND ch.org_id = ?", id, orgID).Scan(ctx); err != nil {
		return vigil.Channel{}, pg.Found("channel", err)
	}
	channels, err := s.OpenedChannels(rows)
	if err != nil {
		return vigil.Channel{}, pg.Wrap("read channel", err)
	}
	return channels[0], nil
}

// Channel finds a channel of the organization.
func (s *Store) Channel(ctx context.Context, orgID, id uuid.UUID) (vigil.Channel, error) {
	return s.ReadChannel(ctx, s.db.NewSelect(), orgID, id)
}
