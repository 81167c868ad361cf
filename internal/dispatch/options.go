// SPDX-License-Identifier: Apache-2.0

package dispatch

// Option changes how Loops and Incidents use Temporal.
type Option func(*options)

type options struct {
	open  func([]byte) ([]byte, error) // nil: cannot open sealed answers
	names *Names                       // nil: not shown
	eager bool
	used  func(region string) // may be nil
}

func optionsOf(list []Option) (o options) {
	for _, one := range list {
		one(&o)
	}
	return o
}

// WithSealedAnswers makes tests be answered sealed, so that Temporal does not keep what a target
// answered, and opens them.
func WithSealedAnswers(open func([]byte) ([]byte, error)) Option {
	return func(o *options) { o.open = open }
}

// WithNames makes workflows show the names of checks; nil: they do not.
func WithNames(names *Names) Option { return func(o *options) { o.names = names } }

// WithEagerStart gives the first workflow task of a new loop or delivery to a worker of the same
// client, when it has one for it. Workers of a Worker Deployment must not get it so: the server
// routes to them what their deployment says.
func WithEagerStart() Option { return func(o *options) { o.eager = true } }

// WithUse calls a function with a region before work is given to its workers. It must not
// block.
func WithUse(used func(region string)) Option { return func(o *options) { o.used = used } }
