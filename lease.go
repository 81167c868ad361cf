package vigil

// Lease is a worker's word that it serves a region. It renews it every second
// for as long as it lives, and gives it back when it stops.
type Lease struct {
	Worker string // name of the process
	Region string // region key
}
