package fair_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"vigil/fair"
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

// small has eight places.
func small(change func(*fair.Limits)) fair.Limits {
	l := fair.Limits{Places: 8, Starting: 8, Settle: 100 * time.Millisecond, SlowAfter: time.Second, Organization: 8, Target: 8}
	if change != nil {
		change(&l)
	}
	return l
}

// TestQueueOrder tests who gets a free place.
func TestQueueOrder(t *testing.T) {
	t.Parallel()

	t.Run("GivesAnOrganizationItsShareHoweverManyClaimsAnotherOneHas", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			q := fair.New(small(nil))
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
			q := fair.New(small(nil))
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
			q := fair.New(small(func(l *fair.Limits) { l.Places = 1 }))
			claims := join(q, 5, fair.Claim{Organization: "o", Target: "t"})
			for i, p := range claims {
				if !holds(p) || held(claims) != i+1 {
					t.Fatalf("claim %d: %d were served", i, held(claims))
				}
				p.Leave()
			}
		})
	})

	t.Run("TakesTurnsAmongEqualShares", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			q := fair.New(small(func(l *fair.Limits) { l.Places, l.Organization, l.Target = 1, 1, 1 }))
			first := q.Join(fair.Claim{Organization: "0", Target: "t"})
			var waiting [][]*fair.Place
			for i := range 4 {
				waiting = append(waiting, join(q, 3, fair.Claim{Organization: fmt.Sprint(i), Target: "t", Slow: i%2 == 1}))
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
						t.Errorf("round %d: organization %d got %d places", round, i, held(of))
					}
				}
			}
		})
	})
}

// TestQueueSlow tests what places that are held for long leave to others.
func TestQueueSlow(t *testing.T) {
	t.Parallel()

	t.Run("KeepsAQuarterOfThePlacesForQuickClaims", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			q := fair.New(small(func(l *fair.Limits) { l.Starting = 100 }))
			hanging := join(q, 100, fair.Claim{Organization: "o", Target: "hangs", Slow: true})
			good := join(q, 3, fair.Claim{Organization: "o", Target: "good"})
			if held(hanging) != 6 || held(good) != 2 {
				t.Errorf("%d slow and %d quick claims hold a place, want 6 and 2", held(hanging), held(good))
			}
		})
	})

	t.Run("CountsAPlaceAsSlowThatIsHeldForLong", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			q := fair.New(small(nil))
			hanging := join(q, 6, fair.Claim{Organization: "o", Target: "hangs"})
			time.Sleep(999 * time.Millisecond)
			if hanging[0].Leave() {
				t.Error("a place that was held for 999 ms is slow")
			}
			time.Sleep(2 * time.Millisecond)
			synctest.Wait()
			more := join(q, 5, fair.Claim{Organization: "o", Target: "hangs", Slow: true})
			if held(more) != 1 {
				t.Errorf("%d more slow claims hold a place beside 5, want 1", held(more))
			}
			if !hanging[1].Leave() || held(more) != 2 {
				t.Errorf("%d more slow claims hold a place beside 4, want 2", held(more))
			}
		})
	})

	t.Run("HandsOutTheNextPlaceWhenOneHasStarted", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			q := fair.New(small(func(l *fair.Limits) { l.Starting = 2 }))
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
			q := fair.New(small(func(l *fair.Limits) { l.Places, l.Organization, l.Target, l.Starting = 100, 100, 100, 4 }))
			hanging := join(q, 50, fair.Claim{Organization: "o", Target: "hangs", Slow: true})
			good := join(q, 1, fair.Claim{Organization: "o", Target: "good"})
			if held(hanging) != 2 || held(good) != 1 {
				t.Errorf("%d slow and %d quick claims hold a place, want 2 and 1", held(hanging), held(good))
			}
		})
	})

	t.Run("BoundsAnOrganizationAndATarget", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			q := fair.New(small(func(l *fair.Limits) { l.Organization, l.Target = 4, 3 }))
			a := join(q, 10, fair.Claim{Organization: "o", Target: "a"})
			b := join(q, 10, fair.Claim{Organization: "o", Target: "b"})
			other := join(q, 10, fair.Claim{Organization: "p", Target: "a"})
			if held(a) != 3 || held(b) != 1 || held(other) != 3 {
				t.Errorf("%d, %d and %d places, want 3, 1 and 3", held(a), held(b), held(other))
			}
			a[0].Leave()
			if held(a[1:]) != 2 || held(b) != 2 {
				t.Errorf("then %d and %d, want 2 and 2: the target with the smaller share comes first", held(a[1:]), held(b))
			}
		})
	})

	// Every slow check gets its turn, however many there are.
	t.Run("ServesEverySlowClaimInTurn", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			q := fair.New(small(nil))
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
				if n < 9 { // six places, ten seconds each, 30 checks in seven targets
					t.Errorf("check %s was probed %d times in ten minutes", id, n)
				}
			}
			if len(probed) != 30 {
				t.Errorf("%d of 30 checks were probed", len(probed))
			}
		})
	})
}

// TestQueueLeave tests that whatever leaves makes room.
func TestQueueLeave(t *testing.T) {
	t.Parallel()

	t.Run("ForgetsAClaimThatGivesUp", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			q := fair.New(small(func(l *fair.Limits) { l.Places = 1 }))
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
			q := fair.New(small(func(l *fair.Limits) { l.Organization, l.Target, l.Starting = 6, 4, 5 }))
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
				if bound := map[int]int{3: 8, 2: 6, 4: 4}[len(key)]; n > bound {
					t.Errorf("%s held %d places, want at most %d", key, n, bound)
				}
			}
			if most["all"] != 8 {
				t.Errorf("at most %d places were held, want all 8", most["all"])
			}
		})
	})
}

func BenchmarkJoinLeave(b *testing.B) {
	q := fair.New(fair.DefaultLimits(4096))
	for i := range 4000 { // a line of claims that wait
		q.Join(fair.Claim{Organization: fmt.Sprint(i % 50), Target: fmt.Sprint(i % 500), Slow: true})
	}
	for b.Loop() {
		p := q.Join(fair.Claim{Organization: "o", Target: "t"})
		<-p.Granted()
		p.Leave()
	}
}
