// Package storagetest gives every test a real Postgres database of its own.
//
// The server is the one of VIGIL_TEST_DATABASE_URL (a role that may create roles
// and databases), or else a private cluster made from the binaries found on the
// machine. All test processes of a user share that cluster: the first one starts
// it, the others find it by its directory, and it stops by itself when no test
// has held a database for some minutes. It keeps nothing worth keeping, so
// it runs without fsync and is made anew whenever it does not answer.
package storagetest
