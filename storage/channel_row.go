// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/vigil-monitor/vigil"
)

// channelRow is a channel as it is stored: its config is sealed.
type channelRow struct {
	bun.BaseModel `bun:"table:channels,alias:ch"`

	ID             uuid.UUID       `bun:"id,pk,type:uuid"`
	OrgID          uuid.UUID       `bun:"org_id,type:uuid"`
	Name           string          `bun:"name"`
	Type           string          `bun:"type"`
	Config         json.RawMessage `bun:"config,type:jsonb"`
	Enabled        bool            `bun:"enabled"`
	DisabledReason string          `bun:"disabled_reason"`
	Labels         vigil.Labels    `bun:"labels,type:jsonb"`
	Version        int64           `bun:"version"`
	CreatedAt      time.Time       `bun:"created_at"`
	UpdatedAt      time.Time       `bun:"updated_at"`

	managedRow
}

// sealedChannel prepares a channel for storing.
func (s *Store) sealedChannel(c *vigil.Channel) (*channelRow, error) {
	if s.keys == nil {
		return nil, errors.New("the store has no keys to seal secrets with")
	}
	if containsNUL(c.Config) {
		return nil, errUnstorable()
	}
	sealed, err := s.keys.SealSecrets(s.secrets.Channel(c.Type), c.Config)
	if err != nil {
		return nil, fmt.Errorf("seal the config: %w", err)
	}
	return &channelRow{
		ID: c.ID, OrgID: c.OrgID, Name: c.Name, Type: string(c.Type), Config: sealed, Enabled: c.Enabled,
		DisabledReason: c.DisabledReason, Labels: storedLabels(c.Labels), Version: c.Version,
		CreatedAt: c.CreatedAt, UpdatedAt: c.UpdatedAt,
		managedRow: managedColumns(c.ManagedBy, c.AppliedVersion),
	}, nil
}

// openedChannels turns stored rows into channels with their secrets in clear.
func (s *Store) openedChannels(rows []channelRow) ([]vigil.Channel, error) {
	if s.keys == nil {
		return nil, errors.New("the store has no keys to open secrets with")
	}
	channels := make([]vigil.Channel, len(rows))
	for i, r := range rows {
		config, err := s.keys.OpenSecrets(s.secrets.Channel(vigil.ChannelType(r.Type)), r.Config)
		if err != nil {
			return nil, fmt.Errorf("open the config of channel %s: %w", r.ID, err)
		}
		channels[i] = vigil.Channel{
			ID: r.ID, OrgID: r.OrgID, Name: r.Name, Type: vigil.ChannelType(r.Type), Config: config, Enabled: r.Enabled,
			DisabledReason: r.DisabledReason, Labels: labelsOf(r.Labels), Version: r.Version,
			CreatedAt: r.CreatedAt.UTC(), UpdatedAt: r.UpdatedAt.UTC(),
			ManagedBy: r.managedBy(), AppliedVersion: r.Applied,
		}
	}
	return channels, nil
}

func (s *Store) readChannel(ctx context.Context, query *bun.SelectQuery, orgID, id uuid.UUID) (vigil.Channel, error) {
	rows := make([]channelRow, 1)
	if err := query.Model(&rows[0]).Where("ch.id = ? AND ch.org_id = ?", id, orgID).Scan(ctx); err != nil {
		return vigil.Channel{}, found("channel", err)
	}
	channels, err := s.openedChannels(rows)
	if err != nil {
		return vigil.Channel{}, wrap("read channel", err)
	}
	return channels[0], nil
}

// Channel finds a channel of the organization.
func (s *Store) Channel(ctx context.Context, orgID, id uuid.UUID) (vigil.Channel, error) {
	return s.readChannel(ctx, s.db.NewSelect(), orgID, id)
}
