package api_test

import (
	"testing"

	"vigil/storage"
	"vigil/storage/storagetest"
)

// newStore returns a store on a fresh database, which goes by the test's clock.
func newStore(t *testing.T, c *clock) *storage.Store {
	t.Helper()
	return storagetest.New(t, func(o *storage.Options) { o.Now = c.Now })
}
