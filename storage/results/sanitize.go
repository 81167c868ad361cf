// SPDX-License-Identifier: Apache-2.0

package results

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// storableEvidence returns the evidence of a result as Postgres can keep it, as JSON that fits
// beside metadata of the bytes that JSON needs; nil when there is none.
func storableEvidence(e *vigil.Evidence, metadata map[string]any) ([]byte, error) {
	if e == nil {
		return nil, nil
	}
	raw := vigil.EncodeEvidence(e, vigil.MetadataSize(metadata))
	if !bytes.Contains(raw, []byte(`\u0000`)) {
		return raw, nil
	}
	var tree any
	if err := json.Unmarshal(raw, &tree); err != nil {
		return nil, fmt.Errorf("decode evidence: %w", err)
	}
	return json.Marshal(vigil.WithoutNUL(tree))
}

// storable returns a result as Postgres can keep it: instants in whole microseconds, and the
// rest as vigil.BoundResult has it, with its metadata as JSON (nil when there is none).
func storable(r vigil.Result) (vigil.Result, []byte, error) {
	r.Slot, r.Time = pg.Micro(r.Slot), pg.Micro(r.Time)
	if r.ID == uuid.Nil {
		r.ID = vigil.ResultID(r.CheckID, r.Region, r.Slot)
	}
	r.ResponseTime = r.ResponseTime.Round(time.Microsecond)
	return vigil.BoundResult(r)
}
