// SPDX-License-Identifier: Apache-2.0

package simulate

import _ "embed"

// recorded is what `vigil bench loops --record` wrote on the machine of docs/benchmarks.md.
//
//go:embed costs.json
var recorded []byte

// Recorded are the costs that are recorded in the repository.
func Recorded() (Costs, error) { return ParseCosts("the recorded costs", recorded) }
