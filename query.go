package vigil

import "time"

// Page is a window of a list, newest first.
type Page struct {
	Limit  int // rows at most
	Offset int // rows passed over
}

// ResultFilter selects results of a check. Nil and empty members do not bind.
type ResultFilter struct {
	From, To *time.Time // of Result.Time; From is included, To is not
	Region   string
	Success  *bool
	Page
}

// Allowance bounds how many checks an organization may create in an hour.
type Allowance struct {
	CreationsPerHour int64 // Unlimited: not enforced
}

// Usage is what an organization uses of its plan.
type Usage struct {
	Checks            int64
	ExecutionsPerHour float64
}

// NewKey is an API key to be stored: its hash, never the key.
type NewKey struct {
	Name   string
	Prefix string
	Hash   []byte // SHA-256
}
