// SPDX-License-Identifier: Apache-2.0

// Package resource is what the parts of the API share: the interfaces of the workflows and of the
// registries of types, the plans, the notifier that wakes workflows after a change, work that goes
// on after an answer, caches and bounds, and the members that several resources have.
//
// A part is a service: it takes the interface of the store that it needs, builds its resources, and
// registers their Operations. Work that a request leaves behind it runs in Tasks, which a server
// that stops waits for. What everyone may ask for is bounded: AtOnce by how many run at once, Cache
// by how old an answer may be, Loads by what the workers can probe.
//
// The Notifier gets each change after its commit. It starts, signals and stops workflows in
// the background, since a request must not wait for Temporal: what it does not reach, the sweep
// repairs. In a burst of creations it leaves the new loops to the sweep altogether.
package resource
