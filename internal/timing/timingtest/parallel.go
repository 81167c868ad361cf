// SPDX-License-Identifier: Apache-2.0

package timingtest

import (
	"flag"
	"runtime"
	"strconv"
)

// AtOnce lets as many tests of a package run at the same time as there are processors, times a factor, unless
// -parallel says how many. It is for packages whose tests mostly wait, and is called by TestMain.
func AtOnce(factor int) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		_ = flag.Set("test.parallel", strconv.Itoa(factor*runtime.GOMAXPROCS(0)))
	}
}
