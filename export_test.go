// SPDX-License-Identifier: Apache-2.0

package vigil

// What tests see of the package besides.
const (
	KeySeverity       = keySeverity
	MaxEvidencePerDay = maxEvidencePerDay
	MaxStatusCode     = maxStatusCode
)

//nolint:gochecknoglobals // functions
var (
	BoundMetadata      = boundMetadata
	ParseCondition     = parseCondition
	ReferenceCondition = referenceCondition
)
