// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/api/rest"
)

// FilterID reads an id that a list is filtered by; zero when it is not given.
func FilterID(name, text string) (uuid.UUID, error) {
	if text == "" {
		return uuid.Nil, nil
	}
	id, err := rest.ParseID(text, "")
	if err != nil {
		return uuid.Nil, vigil.Invalid(name, "must be a UUID")
	}
	return id, nil
}
