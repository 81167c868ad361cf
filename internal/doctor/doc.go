// SPDX-License-Identifier: Apache-2.0

// Package doctor judges what was seen of a platform: what works, what does not, and what
// to do about it. The judgements are pure: commands look, and hand in what they saw.
package doctor
