// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package platform

// releaseProgram does nothing: only Linux says which pages are those of the program.
func releaseProgram() {}
