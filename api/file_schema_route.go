package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"vigil/api/rest"
)

// fileSchemas shows the JSON Schema of the files of monitoring as code.
type fileSchemas struct {
	// schema is set before the first request.
	schema map[string]any
}

type fileSchemaOutput struct {
	Body map[string]any
}

func (f *fileSchemas) register(r *rest.Registrar) {
	rest.Register(r, rest.Operation{
		Method: http.MethodGet, Path: "/v1/schemas/vigil.json", ID: "get-file-schema", Tag: tagApply, Open: true,
		Summary:     "Get the JSON Schema of the files",
		Description: "Editors check and complete the files of a project with it. It has every check and channel type of this server.",
	}, f.get)
}

// make makes the schema. It needs the whole document, so it comes after all operations.
func (f *fileSchemas) make(described *huma.OpenAPI) error {
	text, err := fileSchemaOf(described)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, &f.schema); err != nil {
		return fmt.Errorf("read the schema of the files: %w", err)
	}
	return nil
}

func (f *fileSchemas) get(context.Context, *struct{}) (*fileSchemaOutput, error) {
	return &fileSchemaOutput{Body: f.schema}, nil
}
