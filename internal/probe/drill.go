// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"context"
	"encoding/json"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/config"
)

// DrillConfig is the config of the hidden check of a drill.
type DrillConfig struct {
	Fails bool `json:"fails" doc:"Whether the probe fails"`
}

// WithDrills returns an option that adds the type of the hidden checks of drills. Workers have it;
// what reads requests and what documents the types do not, so that no caller can create such a check.
func WithDrills() Option {
	return func(env *environment) { env.drills = true }
}

type drillProber struct{}

func (drillProber) Type() vigil.CheckType { return vigil.TypeDrill }

func (drillProber) Documents() (config, metadata any) { return DrillConfig{}, struct{}{} }

// Describe says nothing: people cannot choose the type.
func (drillProber) Describe() TypeInfo { return TypeInfo{} }

func (drillProber) Parse(given json.RawMessage, interval time.Duration) (Probe, error) {
	var probe drillProbe
	if err := config.Decode(given, &probe.config, "check", maxConfigBytes); err != nil {
		return nil, err
	}
	var err error
	probe.deadline, err = timeout(1, interval)
	return probe, err
}

type drillProbe struct {
	config   DrillConfig
	deadline time.Duration
}

func (p drillProbe) Deadline() time.Duration { return p.deadline }

func (drillProbe) Target() string { return "drill" }

// Run reaches nothing: it fails when the config says so.
func (p drillProbe) Run(context.Context) vigil.Observation {
	if p.config.Fails {
		return vigil.Observation{Error: "this is a drill: nothing is wrong"}
	}
	return vigil.Observation{Success: true}
}
