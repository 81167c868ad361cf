// SPDX-License-Identifier: Apache-2.0

//go:build slim

package standalone

import (
	"context"
	"errors"

	"google.golang.org/grpc"
)

// Embedded reports whether this binary contains the Temporal server.
const Embedded = false

// Temporal is not part of this binary.
type Temporal struct{}

// StartTemporal fails: this binary has no server.
func StartTemporal(context.Context, TemporalOptions) (*Temporal, error) {
	return nil, errors.New(
		"this binary was built without the embedded Temporal server: " +
			"set TEMPORAL_ADDRESS to the address of one, or use a binary built without the tag slim",
	)
}

// Address is empty: there is no server.
func (*Temporal) Address() string { return "" }

// DialOption changes nothing: there is no server.
func (*Temporal) DialOption() grpc.DialOption { return grpc.EmptyDialOption{} }

// Listens is empty: there is no server.
func (*Temporal) Listens() []string { return nil }

// UIURL is empty: there is no server.
func (*Temporal) UIURL() string { return "" }

// Failed never fires: there is no server.
func (*Temporal) Failed() <-chan error { return nil }

// Stop does nothing.
func (*Temporal) Stop(context.Context) error { return nil }
