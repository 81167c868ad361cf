package main

import (
	"vigil/api"
	"vigil/egress"
	"vigil/manifest"
	"vigil/notify"
	"vigil/probe"
)

// fileSchema is the JSON Schema of the files of monitoring as code.
func fileSchema() ([]byte, error) {
	guard := egress.New(egress.Policy{})
	return api.FileSchema(probe.NewRegistry(guard), notify.NewRegistry(guard))
}

// fileRules are what those files are compared with.
func fileRules() (manifest.Rules, error) {
	text, err := fileSchema()
	if err != nil {
		return manifest.Rules{}, err
	}
	schema, err := manifest.ParseSchema(text)
	return manifest.Rules{Schema: schema, Secrets: configSecrets()}, err
}
