// SPDX-License-Identifier: Apache-2.0

// Package backtest replays the stored results of a check through alert rules, and says which
// incidents these rules would have opened.
//
// Run takes the results row by row, in the order of slots, with the rules and spans of maintenance
// in Input, and decides as the workflows do: it folds each result with vigil.Evaluate and votes
// through vigil.Decide. Compare compares two reports, and CompareRecorded a report with the
// incidents that were opened.
//
// It reads no store: who calls it hands in the rows, and stops it by the limit of rows or the end
// of a context. So the same code runs for one check in the API, for every check of a plan, and over
// random rows in a property test that compares it with the workflows.
package backtest
