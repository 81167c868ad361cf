// SPDX-License-Identifier: Apache-2.0

package incidents

import (
	"context"
	"fmt"

	"github.com/uptrace/bun"

	"github.com/vigil-monitor/vigil"
)

// PublishSystem stores a system event for the stream of its organization; one that is stored
// already is not stored again. Without a name of the organization it reads that. As publish, it
// must be the last statement of a transaction.
func (s *Store) PublishSystem(ctx context.Context, tx bun.Tx, c vigil.SystemContext) error {
	var known []struct {
		Name   string
		Stored bool
	}
	err := tx.NewRaw("SELECT o.name, EXISTS (SELECT FROM events WHERE id = ?) AS stored FROM organizations AS o WHERE o.id = ?",
		vigil.EventID(c.SubjectID, c.Type), c.OrgID).Scan(ctx, &known)
	if err != nil {
		return fmt.Errorf("look for the event: %w", err)
	}
	if len(known) == 0 || known[0].Stored { // an organization that is gone has no stream
		return nil
	}
	if c.OrganizationName == "" {
		c.OrganizationName = known[0].Name
	}
	event, err := vigil.NewSystemEvent(&c)
	if err != nil {
		return err
	}
	return s.publish(ctx, tx, event, nil)
}

// PublishSystemEvent is PublishSystem in a transaction of its own.
func (s *Store) PublishSystemEvent(ctx context.Context, c vigil.SystemContext) error {
	return s.db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error { return s.PublishSystem(ctx, tx, c) })
}
