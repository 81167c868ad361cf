// SPDX-License-Identifier: Apache-2.0

package definitions

import (
	"encoding/json"
	"fmt"

	"github.com/vigil-monitor/vigil"
)

// formerSecret is the form in which the secret that a rotation replaced is stored: that of a
// config with the same member, so that it is sealed, and sealed again, as configs are.
type formerSecret struct {
	Secret string `json:"secret"`
}

// sealFormer seals the former secret of a channel, for storing it; nil without one.
func (s *Store) sealFormer(c *vigil.Channel) (json.RawMessage, error) {
	if c.FormerSecret == "" {
		return nil, nil
	}
	plain, err := json.Marshal(formerSecret{c.FormerSecret})
	if err != nil {
		return nil, fmt.Errorf("encode the former secret: %w", err)
	}
	sealed, err := s.Keyring.SealSecrets(s.Secrets.Channel(c.Type), plain)
	if err != nil {
		return nil, fmt.Errorf("seal the former secret: %w", err)
	}
	return sealed, nil
}

// openFormer gives a channel the former secret of its row, as long as the overlap lasts.
func (s *Store) openFormer(c *vigil.Channel, r *ChannelRow) error {
	if len(r.FormerSecret) == 0 || r.SecretOverlapEndsAt == nil || !r.SecretOverlapEndsAt.After(s.db.Instant()) {
		return nil
	}
	plain, err := s.Keyring.OpenSecrets(s.Secrets.Channel(c.Type), r.FormerSecret)
	if err != nil {
		return err
	}
	var former formerSecret
	if err := json.Unmarshal(plain, &former); err != nil {
		return fmt.Errorf("decode it: %w", err)
	}
	c.FormerSecret, c.SecretOverlapEndsAt = former.Secret, new(r.SecretOverlapEndsAt.UTC())
	return nil
}
