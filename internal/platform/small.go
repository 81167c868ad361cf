// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"fmt"
	"os"
)

// smallMachine is the memory in bytes below which a machine is small: `vigil up` then takes smaller caches
// and fewer connections, which costs time where many checks change at once.
const smallMachine = 2 << 30

// smallMode says whether the machine counts as small.
type smallMode string

const (
	smallAuto smallMode = "auto" // by its memory
	smallOn   smallMode = "on"
	smallOff  smallMode = "off"
)

// UnmarshalText reads auto, on or off.
func (m *smallMode) UnmarshalText(text []byte) error {
	switch mode := smallMode(text); mode {
	case smallAuto, smallOn, smallOff:
		*m = mode
		return nil
	default:
		return fmt.Errorf("is %q; it must be auto, on or off", text)
	}
}

// small reports whether the platform runs on little memory.
func (s *Settings) small() bool { return s.Small.is(availableMemory(os.ReadFile)) }

// is decides by the memory of the machine in bytes, 0 where it is not known.
func (m smallMode) is(memory int64) bool {
	return m == smallOn || m != smallOff && memory > 0 && memory < smallMachine
}
