// SPDX-License-Identifier: Apache-2.0

package canary

// Answered reports whether a canary has ever answered.
func (l *Line) Answered() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.answered.IsZero()
}
