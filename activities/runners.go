package activities

import "time"

// runnerIdle is how long a goroutine of runners waits for the next function.
const runnerIdle = time.Second

// runners run functions on goroutines that stay for the next ones. A probe needs a stack of
// 16 KB or more, which a turn that ran it on its own goroutine would keep for all the time
// that it waits.
type runners struct{ next chan func() }

func newRunners() *runners { return &runners{next: make(chan func())} }

// run calls fn and returns when it has returned. A panic of fn continues in the caller.
func (r *runners) run(fn func()) {
	ended := make(chan any, 1)
	task := func() {
		defer func() { ended <- recover() }()
		fn()
	}
	select {
	case r.next <- task:
	default:
		go r.work(task)
	}
	if failed := <-ended; failed != nil {
		panic(failed)
	}
}

// work runs a function, and those that follow until there is none for a while.
func (r *runners) work(task func()) {
	idle := time.NewTimer(runnerIdle)
	defer idle.Stop()
	for {
		task()
		idle.Reset(runnerIdle)
		select {
		case task = <-r.next:
		case <-idle.C:
			return
		}
	}
}
