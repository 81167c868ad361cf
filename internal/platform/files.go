// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"encoding/json"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/api"
	"github.com/vigil-monitor/vigil/internal/egress"
	"github.com/vigil-monitor/vigil/internal/importer"
	"github.com/vigil-monitor/vigil/internal/manifest"
	"github.com/vigil-monitor/vigil/internal/notify"
	"github.com/vigil-monitor/vigil/internal/probe"
)

// FileSchema is the JSON Schema of the files of monitoring as code.
func FileSchema() ([]byte, error) {
	guard := egress.New(egress.Policy{})
	return api.FileSchema(probe.NewRegistry(guard), notify.NewRegistry(guard))
}

// FileRules are what those files are compared with.
func FileRules() (manifest.Rules, error) {
	text, err := FileSchema()
	if err != nil {
		return manifest.Rules{}, err
	}
	schema, err := manifest.ParseSchema(text)
	return manifest.Rules{Schema: schema, Secrets: ConfigSecrets()}, err
}

// fileJudge reads the configs that an import writes as a server does that may reach private
// addresses: whether it may is a setting of the server.
type fileJudge struct {
	probes   *probe.Registry
	channels *notify.Registry
}

// NewFileJudge returns what judges the definitions that an import makes.
func NewFileJudge() importer.Judge {
	guard := egress.New(egress.Policy{AllowPrivate: true})
	return fileJudge{probe.NewRegistry(guard), notify.NewRegistry(guard)}
}

func (j fileJudge) Check(kind vigil.CheckType, config json.RawMessage, interval time.Duration) error {
	_, err := j.probes.Parse(kind, config, interval)
	return err
}

func (j fileJudge) Channel(kind vigil.ChannelType, config json.RawMessage) error {
	_, err := j.channels.Parse(kind, config)
	return err
}
