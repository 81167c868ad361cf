// SPDX-License-Identifier: Apache-2.0

package codec_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/protobuf/proto"

	"github.com/vigil-monitor/vigil/internal/codec"
	"github.com/vigil-monitor/vigil/internal/secret"
)

const value = "the plain text of a note"

func keyring(tb testing.TB, current byte, older ...byte) *secret.Keyring {
	tb.Helper()
	old := make([][]byte, 0, len(older))
	for _, b := range older {
		old = append(old, bytes.Repeat([]byte{b}, 32))
	}
	ring, err := secret.NewKeyring(bytes.Repeat([]byte{current}, 32), old...)
	if err != nil {
		tb.Fatal(err)
	}
	return ring
}

func payload(tb testing.TB, value any) *commonpb.Payload {
	tb.Helper()
	made, err := converter.GetDefaultDataConverter().ToPayload(value)
	if err != nil {
		tb.Fatal(err)
	}
	return made
}

func encode(tb testing.TB, c *codec.Codec, plain *commonpb.Payload) *commonpb.Payload {
	tb.Helper()
	encoded, err := c.Encode([]*commonpb.Payload{plain})
	if err != nil || len(encoded) != 1 {
		tb.Fatalf("%d payloads, %v", len(encoded), err)
	}
	return encoded[0]
}

func TestCodec(t *testing.T) {
	t.Parallel()
	t.Run("DecodesWhatItEncoded", func(t *testing.T) {
		t.Parallel()
		c := codec.New(keyring(t, 1), true)
		plain := []*commonpb.Payload{payload(t, value), payload(t, nil), payload(t, []byte{}), payload(t, strings.Repeat(value, 1000))}
		encoded, err := c.Encode(plain)
		if err != nil {
			t.Fatal(err)
		}
		again, _ := c.Encode(plain)
		for i, one := range encoded {
			raw, _ := proto.Marshal(one)
			if bytes.Contains(raw, []byte("plain text")) || bytes.Contains(raw, []byte("json/plain")) {
				t.Errorf("payload %d shows its content", i)
			}
			if proto.Equal(one, again[i]) {
				t.Errorf("payload %d is encrypted twice with one nonce", i)
			}
		}
		decoded, err := c.Decode(encoded)
		if err != nil {
			t.Fatal(err)
		}
		for i, one := range decoded {
			if !proto.Equal(one, plain[i]) {
				t.Errorf("payload %d: got %v, want %v", i, one, plain[i])
			}
		}
	})
	t.Run("AnOlderKeyStillDecodes", func(t *testing.T) {
		t.Parallel()
		before, after := codec.New(keyring(t, 1), true), codec.New(keyring(t, 2, 1), true)
		old := encode(t, before, payload(t, value))
		if got, err := after.Decode([]*commonpb.Payload{old}); err != nil || !proto.Equal(got[0], payload(t, value)) {
			t.Errorf("got %v, %v", got, err)
		}
		_, err := before.Decode([]*commonpb.Payload{encode(t, after, payload(t, value))})
		unknown, ok := errors.AsType[secret.UnknownKeyError](err)
		if !ok || !strings.Contains(err.Error(), unknown.ID) || len(unknown.ID) != 8 {
			t.Errorf("an unknown key: got %v", err)
		}
	})
	t.Run("OffLeavesPayloadsPlainAndStillDecodes", func(t *testing.T) {
		t.Parallel()
		on, off := codec.New(keyring(t, 1), true), codec.New(keyring(t, 1), false)
		plain := payload(t, value)
		if got := encode(t, off, plain); !proto.Equal(got, plain) {
			t.Errorf("got %v", got)
		}
		for _, c := range []*codec.Codec{on, off} {
			got, err := c.Decode([]*commonpb.Payload{plain, encode(t, on, plain)})
			if err != nil || !proto.Equal(got[0], plain) || !proto.Equal(got[1], plain) {
				t.Errorf("got %v, %v", got, err)
			}
		}
	})
	t.Run("EveryChangedByteIsAnError", func(t *testing.T) {
		t.Parallel()
		c := codec.New(keyring(t, 1), true)
		encoded := encode(t, c, payload(t, value))
		for i := range encoded.Data {
			damaged := proto.CloneOf(encoded)
			damaged.Data[i] ^= 1
			wantRefused(t, c, damaged)
			wantRefused(t, c, &commonpb.Payload{Metadata: encoded.Metadata, Data: encoded.Data[:i]})
		}
	})
}

// wantRefused fails unless a payload is an error that does not show the plain text.
func wantRefused(t *testing.T, c *codec.Codec, damaged *commonpb.Payload) {
	t.Helper()
	got, err := c.Decode([]*commonpb.Payload{damaged})
	if err == nil || strings.Contains(err.Error(), "note") {
		t.Errorf("%v decodes to %v, %v", damaged, got, err)
	}
}

// FuzzDecode proves that no payload that the codec did not make decodes as an encrypted
// one, or panics.
func FuzzDecode(f *testing.F) {
	c := codec.New(keyring(f, 1), true)
	encoded := encode(f, c, payload(f, value))
	id := string(encoded.Metadata[codec.MetadataKeyID])
	f.Add(codec.Encoding, id, encoded.Data[:len(encoded.Data)-1])
	f.Add(codec.Encoding, "", []byte(nil))
	f.Add(codec.Encoding, id, append([]byte{0}, encoded.Data...))
	f.Add("json/plain", id, []byte(`"x"`))
	f.Fuzz(func(t *testing.T, encoding, id string, data []byte) {
		given := &commonpb.Payload{
			Metadata: map[string][]byte{converter.MetadataEncoding: []byte(encoding), codec.MetadataKeyID: []byte(id)}, Data: data,
		}
		got, err := c.Decode([]*commonpb.Payload{given})
		switch {
		case encoding != codec.Encoding:
			if err != nil || !proto.Equal(got[0], given) {
				t.Errorf("a payload of another encoding became %v, %v", got, err)
			}
		case err == nil && !bytes.Equal(data, encoded.Data):
			t.Errorf("%x was accepted", data)
		}
	})
}

// TestFailures proves that the text of a failure is encrypted with its details, that its
// type stays readable, and that a codec that is off reads it.
func TestFailures(t *testing.T) {
	t.Parallel()
	var on, off client.Options
	codec.New(keyring(t, 1), true).Configure(&on)
	codec.New(keyring(t, 1), false).Configure(&off)
	failure := on.FailureConverter.ErrorToFailure(temporal.NewApplicationError(value, "conflict", value))
	raw, err := proto.Marshal(failure)
	if err != nil || bytes.Contains(raw, []byte("plain text")) {
		t.Errorf("the failure shows its text: %v, %v", failure, err)
	}
	got, ok := errors.AsType[*temporal.ApplicationError](off.FailureConverter.FailureToError(failure))
	var detail string
	if !ok || got.Type() != "conflict" || got.Message() != value || got.Details(&detail) != nil || detail != value {
		t.Errorf("got %v with the detail %q", got, detail)
	}
	plain := off.FailureConverter.ErrorToFailure(errors.New(value))
	if plain.GetMessage() != value {
		t.Errorf("off: the message is %q", plain.GetMessage())
	}
}

// TestWorkflowWaitsForAKey proves that a payload with an unknown key fails the workflow
// task, which is retried, and neither the workflow nor, silently, a signal.
func TestWorkflowWaitsForAKey(t *testing.T) {
	t.Parallel()
	var options client.Options
	codec.New(keyring(t, 2), false).Configure(&options) // it passes on the raw payload below
	foreign := encode(t, codec.New(keyring(t, 1), true), payload(t, value))
	suite := testsuite.WorkflowTestSuite{}
	env := suite.NewTestWorkflowEnvironment()
	env.SetDataConverter(options.DataConverter)
	env.SetFailureConverter(options.FailureConverter)
	env.RegisterDelayedCallback(func() { env.SignalWorkflow("note", converter.NewRawValue(foreign)) }, 0)
	received := false
	env.ExecuteWorkflow(func(ctx workflow.Context) error {
		var note string
		workflow.GetSignalChannel(ctx, "note").Receive(ctx, &note)
		received = true
		return nil
	})
	// The test environment ends a workflow whose task panics, with the panic as its error.
	if err := env.GetWorkflowError(); received || err == nil || !strings.Contains(err.Error(), "is not given") {
		t.Errorf("received: %v, error %v", received, err)
	}
}
