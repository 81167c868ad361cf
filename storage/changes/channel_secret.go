// SPDX-License-Identifier: Apache-2.0

package changes

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/project"
	"github.com/vigil-monitor/vigil/storage/accounts"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// RotateChannelSecret replaces the secret of a webhook channel and keeps the replaced one for the
// overlap. The version grows. A channel of another type, and an overlap that has not ended when
// the rotation does not force it, are CodeConflict errors.
func (s *Store) RotateChannelSecret(
	ctx context.Context, orgID, id uuid.UUID, rotation vigil.SecretRotation,
) (vigil.Channel, error) {
	var after vigil.Channel
	err := s.db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		before, err := s.definitions.ReadChannel(ctx, tx.NewSelect().For("NO KEY UPDATE"), orgID, id)
		if err != nil {
			return err
		}
		if after, err = rotated(before, rotation, s.db.Instant()); err != nil {
			return err
		}
		err = s.edit(ctx, tx, orgID, "", &project.Changes{Channels: []project.Edit[vigil.Channel]{{Before: &before, After: &after}}})
		if err != nil {
			return err
		}
		return accounts.KeepAnswer(ctx, tx, after)
	})
	if err != nil {
		return vigil.Channel{}, pg.Wrap("rotate the secret of a channel", err)
	}
	return after, nil
}

// rotated returns a channel after a rotation of its secret.
func rotated(channel vigil.Channel, rotation vigil.SecretRotation, now time.Time) (vigil.Channel, error) {
	if channel.Type != vigil.ChannelWebhook {
		return channel, vigil.Errorf(vigil.CodeConflict, "Only webhook channels sign their messages; this one has the type %s.", channel.Type)
	}
	if channel.SecretOverlapEndsAt != nil && !rotation.Force {
		err := vigil.Errorf(vigil.CodeConflict, "The secret was rotated before, and the one that it replaced still signs messages until %s. "+
			"Wait until then, or rotate with \"force\": true, which makes that one invalid now.",
			channel.SecretOverlapEndsAt.Format(time.RFC3339))
		err.Details = map[string]any{"secret_overlap_ends_at": *channel.SecretOverlapEndsAt}
		return channel, err
	}
	former := signedBy(channel.Config).Secret
	var members map[string]json.RawMessage
	if err := json.Unmarshal(channel.Config, &members); err != nil {
		return channel, fmt.Errorf("decode the config: %w", err)
	}
	secret, err := json.Marshal(rotation.Secret)
	if err != nil {
		return channel, fmt.Errorf("encode the secret: %w", err)
	}
	members["secret"] = secret
	if channel.Config, err = json.Marshal(members); err != nil {
		return channel, fmt.Errorf("encode the config: %w", err)
	}
	channel.FormerSecret, channel.SecretOverlapEndsAt = "", nil
	if former != "" && rotation.Overlap > 0 {
		channel.FormerSecret, channel.SecretOverlapEndsAt = former, new(now.Add(rotation.Overlap))
	}
	return channel, nil
}

// signed are the members of a webhook's config that say by what its messages are signed, and who
// reads the signatures.
type signed struct {
	Secret string `json:"secret"`
	URL    string `json:"url"`
}

// signedBy reads them; the zero value for another config.
func signedBy(config json.RawMessage) signed {
	var members signed
	if json.Unmarshal(config, &members) != nil {
		return signed{}
	}
	return members
}

// endOverlap ends the overlap of a rotation where a change gives the channel another secret or
// receiver: a secret that was written takes effect at once, and another receiver never had the
// former one. A rotation begins an overlap of its own.
func endOverlap(before, after *vigil.Channel) {
	if after.FormerSecret == "" || after.FormerSecret != before.FormerSecret {
		return
	}
	was, is := signedBy(before.Config), signedBy(after.Config)
	if was.Secret != is.Secret || origin(was.URL) != origin(is.URL) {
		after.FormerSecret, after.SecretOverlapEndsAt = "", nil
	}
}

// origin returns scheme, host and port of an address; the address itself when it is none.
func origin(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	return u.Scheme + "://" + u.Host
}
