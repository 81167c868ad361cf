// SPDX-License-Identifier: Apache-2.0

//go:build !slim

package standalone

import "google.golang.org/grpc"

// LocalCalls are the calls within a server.
type LocalCalls = localCalls

// NewLocalCalls returns those of another server.
func NewLocalCalls() *LocalCalls { return &localCalls{} }

// ServerOption makes a server keep its handlers.
func (l *localCalls) ServerOption() grpc.ServerOption { return l.serverOption() }

// DialOption makes a client call the handlers.
func (l *localCalls) DialOption() grpc.DialOption { return l.dialOption() }

// Close ends calls in the process.
func (l *localCalls) Close() { l.close() }

// LocalMethods returns the full names of the methods that are called in the process.
func (t *Temporal) LocalMethods() []string {
	var names []string
	t.calls.handlers.Range(func(name, _ any) bool {
		names = append(names, name.(string))
		return true
	})
	return names
}
