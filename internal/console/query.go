// SPDX-License-Identifier: Apache-2.0

package console

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/itchyny/gojq"
)

// Query is a compiled jq expression.
type Query struct {
	code *gojq.Code
}

// ParseQuery compiles a jq expression. It cannot read files or the environment.
func ParseQuery(text string) (*Query, error) {
	parsed, err := gojq.Parse(text)
	if err != nil {
		return nil, Errorf(Usage, "--jq %q: %w", text, err)
	}
	code, err := gojq.Compile(parsed)
	if err != nil {
		return nil, Errorf(Usage, "--jq %q: %w", text, err)
	}
	return &Query{code}, nil
}

// run applies the expression. Each result has a line: a text as it is, anything else as
// JSON.
func (q *Query) run(body []byte) ([]byte, error) {
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	var input any
	if err := decoder.Decode(&input); err != nil {
		return nil, fmt.Errorf("the answer is no JSON: %w", err)
	}
	var out bytes.Buffer
	results := q.code.Run(input)
	for {
		result, ok := results.Next()
		if !ok {
			return out.Bytes(), nil
		}
		switch result := result.(type) {
		case error:
			if halt, ok := errors.AsType[*gojq.HaltError](result); ok && halt.Value() == nil {
				return out.Bytes(), nil
			}
			return nil, Errorf(Failed, "--jq: %w", result)
		case string:
			out.WriteString(result)
		default:
			text, err := gojq.Marshal(result)
			if err != nil {
				return nil, fmt.Errorf("--jq: %w", err)
			}
			out.Write(text)
		}
		out.WriteByte('\n')
	}
}
