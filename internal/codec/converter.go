// SPDX-License-Identifier: Apache-2.0

package codec

import (
	"context"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
)

// dataConverter is the default data converter with a codec. Inside a workflow, a payload
// that cannot be decoded is a panic instead of an error: an error would fail an incident's
// workflow, and the SDK would drop a signal without a trace. A panic fails the workflow
// task only, which the server retries until a worker with the key takes it.
type dataConverter struct {
	converter.DataConverter
	strict converter.DataConverter
}

var _ converter.ContextAware = dataConverter{}

func newDataConverter(c *Codec) dataConverter {
	plain := converter.GetDefaultDataConverter()
	return dataConverter{
		DataConverter: converter.NewCodecDataConverter(plain, c),
		strict:        converter.NewCodecDataConverter(plain, panicking{c}),
	}
}

// WithWorkflowContext returns the converter that panics.
func (d dataConverter) WithWorkflowContext(converter.WorkflowContext) converter.DataConverter {
	return d.strict
}

// WithContext returns the converter itself: activities and clients get errors.
func (d dataConverter) WithContext(context.Context) converter.DataConverter { return d }

// panicking is a codec that panics where another returns an error.
type panicking struct{ *Codec }

// Encode panics with the error of the codec.
func (p panicking) Encode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	encoded, err := p.Codec.Encode(payloads)
	if err != nil {
		panic(err)
	}
	return encoded, nil
}

// Decode panics with the error of the codec.
func (p panicking) Decode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	decoded, err := p.Codec.Decode(payloads)
	if err != nil {
		panic(err)
	}
	return decoded, nil
}
