// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"bytes"
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil/client"
)

// Pause disables the checks of the demo and returns how many it disabled. It is for a start
// without the demo, whose shop would only fail; the next Open enables them again.
func Pause(ctx context.Context, doer client.HttpRequestDoer, baseURL string) (int, error) {
	api, err := client.NewClient(baseURL, client.WithHTTPClient(doer))
	if err != nil {
		return 0, err
	}
	tool, project, enabled := "apply", Project, true
	found, err := read[[]struct {
		ID uuid.UUID `json:"id"`
	}](api.ListChecks(ctx, &client.ListChecksParams{Tool: &tool, Project: &project, Enabled: &enabled}))
	if err != nil {
		return 0, fmt.Errorf("find the check of the demo: %w", err)
	}
	for _, check := range found {
		body := bytes.NewBufferString(`{"enabled": false}`)
		response, err := api.UpdateCheckWithBody(ctx, check.ID, nil, "application/json", body)
		if _, err := read[struct{}](response, err); err != nil {
			return 0, fmt.Errorf("pause the check of the demo: %w", err)
		}
	}
	return len(found), nil
}
