// Package contract holds the running program to the interface that it
// implements: one test per row of the tables in its description, named after the
// row, as a client that signed up by itself sees it, over HTTP and without a line
// of the program's own code.
package contract
