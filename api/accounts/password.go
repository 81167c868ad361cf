// SPDX-License-Identifier: Apache-2.0

package accounts

import (
	"context"
	"fmt"
	"runtime"
	"sync"

	"github.com/alexedwards/argon2id"
)

// Bounds of a password, in characters.
const (
	minPassword = 8
	maxPassword = 128
)

// passwords hashes and compares. Each hash takes 19 MiB and some 20 ms, so no
// more of them run at once than there are processors.
type passwords struct {
	params  argon2id.Params
	slots   chan struct{}
	decoy   func() (string, error)
	create  func(password string, params *argon2id.Params) (hash string, err error)
	compare func(password, hash string) (same bool, err error)
}

func newPasswords() *passwords {
	p := &passwords{
		// The library's defaults depend on the machine; these are OWASP's.
		params: argon2id.Params{Memory: 19 * 1024, Iterations: 2, Parallelism: 1, SaltLength: 16, KeyLength: 32},
		slots:  make(chan struct{}, runtime.GOMAXPROCS(0)),
		create: argon2id.CreateHash, compare: argon2id.ComparePasswordAndHash,
	}
	p.decoy = sync.OnceValues(func() (string, error) { return argon2id.CreateHash("no one's password", &p.params) })
	return p
}

// watch has fn called before each hash of a password is made or compared.
func (p *passwords) watch(fn func()) {
	create, compare := p.create, p.compare
	p.create = func(password string, params *argon2id.Params) (string, error) {
		fn()
		return create(password, params)
	}
	p.compare = func(password, hash string) (bool, error) {
		fn()
		return compare(password, hash)
	}
}

// hash returns the argon2id hash of a password.
func (p *passwords) hash(ctx context.Context, password string) (string, error) {
	if err := p.enter(ctx); err != nil {
		return "", err
	}
	defer p.leave()
	hash, err := p.create(password, &p.params)
	if err != nil {
		return "", fmt.Errorf("hash a password: %w", err)
	}
	return hash, nil
}

// matches compares a password with a hash. With an empty hash, which belongs to
// an unknown address or an account without a password, it takes as long and
// says no.
func (p *passwords) matches(ctx context.Context, password, hash string) (bool, error) {
	if err := p.enter(ctx); err != nil {
		return false, err
	}
	defer p.leave()
	known := hash != ""
	if !known {
		var err error
		if hash, err = p.decoy(); err != nil {
			return false, fmt.Errorf("compare a password: %w", err)
		}
	}
	same, err := p.compare(password, hash)
	if err != nil {
		return false, fmt.Errorf("compare a password: %w", err)
	}
	return same && known, nil
}

func (p *passwords) enter(ctx context.Context) error {
	select {
	case p.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait to hash a password: %w", ctx.Err())
	}
}

func (p *passwords) leave() { <-p.slots }
