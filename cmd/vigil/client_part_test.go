// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// setPart is the script command `part <variable> <from> <to>`: it sets the variable to that
// part of the id that the last command printed.
func setPart(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: part <variable> <from> <to>")
	}
	from, err := strconv.Atoi(args[1])
	ts.Check(err)
	to, err := strconv.Atoi(args[2])
	ts.Check(err)
	id := strings.TrimSpace(ts.ReadFile("stdout"))
	if len(id) != 36 {
		ts.Fatalf("%q is no id", id)
	}
	ts.Setenv(args[0], id[from:to])
	ts.Setenv(args[0]+"_UPPER", strings.ToUpper(id[from:to]))
}
