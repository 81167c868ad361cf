// SPDX-License-Identifier: Apache-2.0

package fair_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vigil-monitor/vigil/internal/fair"
)

// holds reports whether a claim holds a place now.
func holds(p *fair.Place) bool {
	select {
	case <-p.Granted():
		return true
	default:
		return false
	}
}

// join adds n claims of one kind.
func join(q *fair.Queue, n int, c fair.Claim) []*fair.Place {
	places := make([]*fair.Place, n)
	for i := range places {
		places[i] = q.Join(c)
	}
	return places
}

func held(places []*fair.Place) (n int) {
	for _, p := range places {
		if holds(p) {
			n++
		}
	}
	return n
}

// limits has that many places, and as many that are starting.
func limits(places, starting int) fair.Limits {
	return fair.Limits{Places: places, Starting: starting, Settle: 100 * time.Millisecond, SlowAfter: time.Second}
}

// churn ends what holds a place, again and again: each claim is replaced by one of its kind.
func churn(q *fair.Queue, claims []fair.Claim, each int) map[string]int {
	type one struct {
		claim fair.Claim
		place *fair.Place
	}
	var all []one
	for _, claim := range claims {
		for range each {
			all = append(all, one{claim, q.Join(claim)})
		}
	}
	for range 20 {
		for i := range all {
			if holds(all[i].place) {
				all[i].place.Leave()
				all[i].place = q.Join(all[i].claim)
			}
		}
	}
	held := make(map[string]int)
	for _, o := range all {
		if holds(o.place) {
			held[o.claim.Organization]++
		}
	}
	return held
}

// TestQueueOrder tests who gets the next place while the CPU is the scarce resource.
func TestQueueOrder(t *testing.T) {
	t.Parallel()

	t.Run("GivesAnOrganizationItsShareHoweverManyClaimsAnotherOneHas", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			q := fair.New(limits(1000, 8))
			many := join(q, 100, fair.Claim{Organization: "many", Target: "a"})
			few := join(q, 3, fair.Claim{Organization: "few", Target: "b"})
			if held(many) != 8 || held(few) != 0 {
				t.Fatalf("%d and %d places", held(many), held(few))
			}
			for i := range 3 {
				many[i].Leave()
			}
			if held(many[8:]) != 0 || held(few) != 3 {
				t.Errorf("of 3 free places %d went to the organization with few claims", held(few))
			}
		})
	})

	t.Run("GivesATargetItsShareWithinAnOrganization", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			q := fair.New(limits(1000, 8))
			many := join(q, 100, fair.Claim{Organization: "o", Target: "many"})
			few := join(q, 3, fair.Claim{Organization: "o", Target: "few"})
			for i := range 3 {
				many[i].Leave()
			}
			if held(few) != 3 {
				t.Errorf("of 3 free places %d went to the target with few claims", held(few))
			}
		})
	})

	t.Run("ServesATargetInTheOrderOfItsClaims", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			q := fair.New(limits(1000, 1))
			claims := join(q, 5, fair.Claim{Organization: "o", Target: "t"})
			for i, p := range claims {
				if !holds(p) || held(claims) != i+1 {
					t.Fatalf("claim %d: %d were served", i, held(claims))
				}
				p.Leave()
			}
		})
	})

	t.Run("ServesTheClaimFirstThatIsDueForTheLongestTime", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			q := fair.New(limits(1000, 1))
			held := q.Join(fair.Claim{Organization: "o", Target: "t"})
			later := q.Join(fair.Claim{Organization: "o", Target: "t", Since: time.Now()})
			joinsAgain := q.Join(fair.Claim{Organization: "o", Target: "t", Since: time.Now().Add(-time.Minute)})
			held.Leave()
			if holds(later) || !holds(joinsAgain) {
				t.Error("the claim that joined first got the place, not the one that is due for a minute")
			}
		})
	})

	t.Run("TakesTurnsAmongEqualShares", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			q := fair.New(limits(1000, 1))
			first := q.Join(fair.Claim{Organization: "0", Target: "t"})
			var waiting [][]*fair.Place
			for i := range 4 {
				waiting = append(waiting, join(q, 3, fair.Claim{Organization: fmt.Sprint(i / 2), Target: fmt.Sprint(i), Slow: i%2 == 1}))
			}
			first.Leave()
			for round := range 3 {
				for range waiting {
					for _, of := range waiting {
						if holds(of[round]) {
							of[round].Leave()
						}
					}
				}
				for i, of := range waiting {
					if held(of) < round+1 {
						t.Errorf("round %d: line %d got %d places", round, i, held(of))
					}
				}
			}
		})
	})

	t.Run("HandsOutTheNextPlaceWhenOneHasStarted", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			q := fair.New(limits(1000, 2))
			claims := join(q, 6, fair.Claim{Organization: "o", Target: "t"})
			for want := 2; want <= 6; want += 2 {
				if held(claims) != want {
					t.Errorf("%d claims hold a place, want %d", held(claims), want)
				}
				time.Sleep(100 * time.Millisecond)
				synctest.Wait()
			}
		})
	})

	t.Run("LeavesHalfOfTheStartsToQuickClaims", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			q := fair.New(limits(1000, 4))
			hanging := join(q, 50, fair.Claim{Organization: "o", Target: "hangs", Slow: true})
			good := join(q, 1, fair.Claim{Organization: "o", Target: "good"})
			if held(hanging) != 2 || held(good) != 1 {
				t.Errorf("%d slow and %d quick claims hold a place, want 2 and 1", held(hanging), held(good))
			}
		})
	})
}

// TestQueueHeld tests what is left while places are held for long.
func TestQueueHeld(t *testing.T) {
	t.Parallel()

	t.Run("LeavesAsMuchForOneThatComesAsEachGreedyOneHolds", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			q := fair.New(limits(1000, 1000))
			var greedy []fair.Claim
			for i := range 12 {
				greedy = append(greedy, fair.Claim{Organization: fmt.Sprint(i / 4), Target: fmt.Sprint(i)})
			}
			for org, n := range churn(q, greedy, 1000) {
				if n < 200 || n > 250 {
					t.Errorf("organization %s of three holds %d of 1000 places", org, n)
				}
			}
			if n := held(join(q, 10, fair.Claim{Organization: "0", Target: "comes"})); n != 10 {
				t.Errorf("a target that comes to a greedy organization got %d places, want 10", n)
			}
			if n := held(join(q, 80, fair.Claim{Organization: "comes", Target: "t"})); n != 80 {
				t.Errorf("an organization that comes got %d places, want 80", n)
			}
		})
	})

	t.Run("LeavesATargetThatComesItsShareOfTheOrganization", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			q := fair.New(limits(1000, 1000))
			hanging := join(q, 1000, fair.Claim{Organization: "o", Target: "hangs"})
			good := join(q, 200, fair.Claim{Organization: "o", Target: "good"})
			if held(hanging) < 330 || held(hanging) > 340 || held(good) < 100 {
				t.Errorf("the greedy target holds %d of 1000 places, the other %d", held(hanging), held(good))
			}
		})
	})

	t.Run("KeepsAQuarterOfThePlacesForQuickClaims", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			q := fair.New(limits(1000, 2000))
			var slow []fair.Claim
			for org := range 100 {
				slow = append(slow, fair.Claim{Organization: fmt.Sprint(org), Target: "hangs", Slow: true})
			}
			churn(q, slow, 100)
			if n := q.Held(); n < 700 || n > 750 {
				t.Errorf("slow claims hold %d of 1000 places", n)
			}
			good := join(q, 60, fair.Claim{Organization: "0", Target: "good"})
			if held(good) != 60 {
				t.Errorf("%d of 60 quick claims got a place", held(good))
			}
		})
	})

	t.Run("CallsAPlaceSlowThatWasHeldForLong", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			q := fair.New(limits(8, 8))
			places := join(q, 2, fair.Claim{Organization: "o", Target: "t"})
			time.Sleep(999 * time.Millisecond)
			if places[0].Leave() {
				t.Error("a place that was held for 999 ms is slow")
			}
			time.Sleep(2 * time.Millisecond)
			synctest.Wait()
			if !places[1].Leave() {
				t.Error("a place that was held for 1001 ms is not slow")
			}
		})
	})

	// Every slow check gets its turn, however many there are.
	t.Run("ServesEverySlowClaimInTurn", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			q := fair.New(limits(21, 21))
			var group sync.WaitGroup
			var mu sync.Mutex
			probed := make(map[string]int)
			until := time.Now().Add(10 * time.Minute)
			for i := range 30 {
				claim := fair.Claim{Organization: "o", Target: fmt.Sprint(i % 7), Slow: true}
				group.Go(func() {
					for time.Now().Before(until) {
						p := q.Join(claim)
						<-p.Granted()
						time.Sleep(10 * time.Second)
						p.Leave()
						mu.Lock()
						probed[claim.Target+"/"+fmt.Sprint(i)]++
						mu.Unlock()
					}
				})
			}
			group.Wait()
			for id, n := range probed {
				if n < 9 { // six places or more, ten seconds each, 30 checks in seven targets
					t.Errorf("check %s was probed %d times in ten minutes", id, n)
				}
			}
			if len(probed) != 30 {
				t.Errorf("%d of 30 checks were probed", len(probed))
			}
		})
	})
}

// TestQueueLeave tests that a claim that leaves makes room.
func TestQueueLeave(t *testing.T) {
	t.Parallel()

	t.Run("ForgetsAClaimThatGivesUp", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			q := fair.New(limits(8, 1))
			claims := join(q, 3, fair.Claim{Organization: "o", Target: "t"})
			claims[1].Leave()
			claims[1].Leave()
			if q.Waiting() != 1 || q.Held() != 1 {
				t.Errorf("%d wait and %d hold a place, want 1 and 1", q.Waiting(), q.Held())
			}
			claims[0].Leave()
			claims[0].Leave()
			if holds(claims[1]) || !holds(claims[2]) || q.Waiting() != 0 || q.Held() != 1 {
				t.Errorf("%d wait and %d hold a place, want 0 and 1", q.Waiting(), q.Held())
			}
		})
	})

	t.Run("KeepsItsLimitsWithRandomClaims", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			q := fair.New(limits(24, 5))
			var group sync.WaitGroup
			var mu sync.Mutex
			now, most := make(map[string]int), make(map[string]int)
			count := func(by int, keys ...string) {
				mu.Lock()
				defer mu.Unlock()
				for _, key := range keys {
					now[key] += by
					most[key] = max(most[key], now[key])
				}
			}
			random := rand.New(rand.NewPCG(1, 2))
			for range 400 {
				org, target := fmt.Sprint("o", random.IntN(3)), fmt.Sprint("t", random.IntN(3))
				takes, patience := time.Duration(random.Int64N(3e9)), time.Duration(random.Int64N(60e9))
				claim := fair.Claim{Organization: org, Target: target, Slow: random.IntN(2) == 0}
				group.Go(func() {
					p := q.Join(claim)
					defer p.Leave()
					select {
					case <-p.Granted():
					case <-time.After(patience):
						return
					}
					count(1, "all", org, org+target)
					time.Sleep(takes)
					count(-1, "all", org, org+target)
				})
			}
			group.Wait()
			if q.Waiting() != 0 || q.Held() != 0 {
				t.Errorf("%d wait and %d hold a place at the end", q.Waiting(), q.Held())
			}
			for key, n := range most {
				if bound := map[int]int{3: 24, 2: 12, 4: 8}[len(key)]; n > bound {
					t.Errorf("%s held %d places, want at most %d", key, n, bound)
				}
			}
			if most["all"] < 15 {
				t.Errorf("at most %d of 24 places were held", most["all"])
			}
		})
	})
}
