// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil/client"
)

// maxAnswer bounds an answer of the API, in bytes.
const maxAnswer = 8 << 20

// refusal is the error of an answer that is not a success.
func refusal(response *http.Response) error {
	text, _ := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	var said struct {
		Error   string `json:"error"`
		Details struct {
			Errors []struct {
				Path    string `json:"path"`
				Message string `json:"message"`
			} `json:"errors"`
		} `json:"details"`
	}
	if json.Unmarshal(text, &said) != nil || said.Error == "" {
		return fmt.Errorf("the API answers with status %d", response.StatusCode)
	}
	errs := []error{errors.New(said.Error)}
	for _, one := range said.Details.Errors {
		errs = append(errs, fmt.Errorf("%s: %s", one.Path, one.Message))
	}
	return errors.Join(errs...)
}

// read reads the data of an answer.
func read[T any](response *http.Response, err error) (data T, _ error) {
	if err != nil {
		return data, err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return data, refusal(response)
	}
	var answer struct {
		Data T `json:"data"`
	}
	err = json.NewDecoder(io.LimitReader(response.Body, maxAnswer)).Decode(&answer)
	return answer.Data, err
}

// action is what an application did to one object.
type action struct {
	Kind   string    `json:"kind"`
	Key    string    `json:"key"`
	ID     uuid.UUID `json:"id"`
	Action string    `json:"action"`
}

// apply stores the definitions, and returns the ID of the check and whether anything changed.
func (d *Demo) apply(ctx context.Context) (check uuid.UUID, changed bool, err error) {
	body, err := json.Marshal(d.definitions(d.state.get()))
	if err != nil {
		return uuid.Nil, false, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, d.baseURL+"/v1/apply", bytes.NewReader(body))
	if err != nil {
		return uuid.Nil, false, err
	}
	request.Header.Set("Content-Type", "application/json")
	done, err := read[struct {
		Actions []action `json:"actions"`
	}](d.doer.Do(request))
	if err != nil {
		return uuid.Nil, false, fmt.Errorf("apply the definitions of the demo: %w", err)
	}
	for _, one := range done.Actions {
		if one.Kind == "check" && one.Key == keyShop && one.Action != "delete" {
			check = one.ID
		}
		changed = changed || one.Action != "none"
	}
	if check == uuid.Nil {
		return uuid.Nil, false, errors.New("apply the definitions of the demo: the answer has no check")
	}
	return check, changed, nil
}

// deliveriesOf returns the deliveries of an incident, oldest first.
func (d *Demo) deliveriesOf(ctx context.Context, incident uuid.UUID) ([]client.Delivery, error) {
	found, err := read[[]client.Delivery](d.api.ListDeliveries(ctx, &client.ListDeliveriesParams{IncidentId: &incident}))
	for i, j := 0, len(found)-1; i < j; i, j = i+1, j-1 {
		found[i], found[j] = found[j], found[i]
	}
	return found, err
}
