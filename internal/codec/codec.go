// SPDX-License-Identifier: Apache-2.0

package codec

import (
	"fmt"
	"net/http"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"google.golang.org/protobuf/proto"

	"github.com/vigil-monitor/vigil/internal/secret"
)

// The metadata of an encrypted payload, as in Temporal's samples: the UI and the CLI show
// the encoding of what they cannot decode.
const (
	// Encoding is the value of the member "encoding".
	Encoding = "binary/encrypted"
	// MetadataKeyID names the key that the payload is sealed with.
	MetadataKeyID = "encryption-key-id"
)

// Codec encrypts payloads with AES-256-GCM. It is a converter.PayloadCodec and safe for
// concurrent use.
type Codec struct {
	keys    *secret.Keyring
	encrypt bool
}

var _ converter.PayloadCodec = (*Codec)(nil)

// New returns a codec that decrypts with every key of the ring. With encrypt it also
// encrypts, with the current one; without, it leaves new payloads plain.
func New(keys *secret.Keyring, encrypt bool) *Codec { return &Codec{keys: keys, encrypt: encrypt} }

// Encode encrypts payloads, each with its metadata.
func (c *Codec) Encode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	if !c.encrypt {
		return payloads, nil
	}
	encoded := make([]*commonpb.Payload, len(payloads))
	for i, payload := range payloads {
		plain, err := proto.Marshal(payload)
		if err != nil {
			return nil, fmt.Errorf("encrypt a payload: %w", err)
		}
		id, sealed, err := c.keys.SealBytes(plain, []byte(Encoding))
		if err != nil {
			return nil, fmt.Errorf("encrypt a payload: %w", err)
		}
		encoded[i] = &commonpb.Payload{
			Metadata: map[string][]byte{converter.MetadataEncoding: []byte(Encoding), MetadataKeyID: []byte(id)},
			Data:     sealed,
		}
	}
	return encoded, nil
}

// Decode decrypts payloads. A payload that is not encrypted stays as it is. The error
// wraps a secret.UnknownKeyError when the key of a payload is not in the ring.
func (c *Codec) Decode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	decoded := make([]*commonpb.Payload, len(payloads))
	for i, payload := range payloads {
		if string(payload.GetMetadata()[converter.MetadataEncoding]) != Encoding {
			decoded[i] = payload
			continue
		}
		plain, err := c.keys.OpenBytes(string(payload.GetMetadata()[MetadataKeyID]), payload.GetData(), []byte(Encoding))
		if err != nil {
			return nil, fmt.Errorf("decrypt a payload: %w", err)
		}
		decoded[i] = &commonpb.Payload{}
		if err := proto.Unmarshal(plain, decoded[i]); err != nil {
			return nil, fmt.Errorf("decrypt a payload: %w", err)
		}
	}
	return decoded, nil
}

// Configure makes a client, and the workers that use it, convert payloads and failures
// with the codec. The message and the stack trace of a failure are encrypted too.
func (c *Codec) Configure(options *client.Options) {
	options.DataConverter = newDataConverter(c)
	options.FailureConverter = temporal.NewDefaultFailureConverter(temporal.DefaultFailureConverterOptions{
		DataConverter: options.DataConverter, EncodeCommonAttributes: c.encrypt,
	})
}

// Handler serves Temporal's remote codec protocol: POST .../encode and .../decode. It
// does not ask who calls.
func (c *Codec) Handler() http.Handler { return converter.NewPayloadCodecHTTPHandler(c) }
