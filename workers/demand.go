// SPDX-License-Identifier: Apache-2.0

package workers

import (
	"slices"
	"sync"
)

// Demand collects the regions that this process itself gives work to, so that their
// workers start at once. A nil Demand collects nothing. It is safe for concurrent use.
type Demand struct {
	mu      sync.Mutex
	regions []string
	added   chan struct{} // has a buffer of one
}

// NewDemand returns an empty Demand.
func NewDemand() *Demand { return &Demand{added: make(chan struct{}, 1)} }

// Add records that a region gets work. It never blocks.
func (d *Demand) Add(region string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if slices.Contains(d.regions, region) {
		return
	}
	d.regions = append(d.regions, region)
	select {
	case d.added <- struct{}{}:
	default: // it is signalled already
	}
}

// signal receives a value after regions were added; it never does on nil.
func (d *Demand) signal() <-chan struct{} {
	if d == nil {
		return nil
	}
	return d.added
}

// of returns those of the regions that were added.
func (d *Demand) of(regions []string) []string {
	if d == nil {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(regions), func(region string) bool { return !slices.Contains(d.regions, region) })
}
