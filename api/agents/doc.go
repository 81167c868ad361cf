// SPDX-License-Identifier: Apache-2.0

// Package agents is the platform's side of the protocol of agents (internal/agentlink): what a program at
// another place may ask with the token of its location, and nothing else.
//
// Every request has the token (agents.go), and a session belongs to the location of the token. The stream
// (stream.go) sends definitions as they change, each config sealed to the key of the session, and tasks;
// a hub (hub.go) asks the database once for all streams of the process whether there is something. A
// report (results.go) is judged result by result, and what is a slot of a check of the location is stored
// for the turn of its loop, which puts it into the slot. The answer comes after the commit.
package agents
