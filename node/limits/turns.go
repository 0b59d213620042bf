package limits

import (
	"context"
	"math"
	"slices"
	"sync"
	"time"
)

const (
	// restMin is the computing time from which a rest follows, so that a rest is longer than a timer is inaccurate.
	restMin = 200 * time.Microsecond
	// restMax bounds the rest after one use of a turn. BOUND: a request that computes for a second may delay others by one more.
	restMax = time.Second
	// usageHalfLife is the time after which a marketplace's use of CPUs counts half when turns are given.
	usageHalfLife = 10 * time.Second
)

// turns share out the CPUs that management requests use. The Go runtime knows no priorities: ten requests that each parse
// megabytes of JSON would let every auction wait in line behind ten time slices of 10 ms.
//
// There are as many turns as CPUs, and one fewer (at least one) while the node answers auctions or events. Then a turn rests
// after it was used: for as long as it was used, or, on a busy node, for so long that all turns together use only a share of
// the CPUs. The rest is owed by the turn and not by the request, so that no way of dividing work into requests avoids it.
//
// The marketplace that has used the least CPU time lately is next (the least attained service of Kleinrock's processor
// sharing). Within a marketplace requests that continue come before those that begin, because what they still have to do is
// little and they hold memory, and else the one that has waited longest. So a marketplace with a hundred requests does not
// delay the single request of another one, neither when it begins nor when it continues.
type turns struct {
	cpus  int
	share float64 // Of the CPUs, for all turns of a busy node.

	mu           sync.Mutex
	load         load
	taken        int
	used         time.Duration      // By all marketplaces since the start.
	owed         time.Duration      // Computing time that was too short for a rest of its own.
	waiting      []uint16           // Marketplaces with waiting requests.
	marketplaces map[uint16]*demand // BOUND: 65,536 marketplaces of 100 bytes.
}

// demand is what the requests of a marketplace wait for and have used. A turn is given by closing its channel.
type demand struct {
	continued, begin []chan struct{} // Oldest first.
	used             float64         // Seconds, decayed to the time of at.
	at               time.Time
}

func newTurns(cpus int, share float64, answered func() uint64, now func() time.Time) *turns {
	return &turns{
		cpus: cpus, share: share, marketplaces: map[uint16]*demand{},
		load: load{answered: answered, now: now, cpus: cpus},
	}
}

// take waits for a turn, of a request that begins or one that continues. A free one is given also when ctx has ended: a client
// that has closed its sending side may still read. An error is that of ctx, and then there is no turn.
func (t *turns) take(ctx context.Context, marketplace uint16, continued bool) error {
	t.mu.Lock()
	if t.taken < t.limit() && len(t.waiting) == 0 {
		t.taken++
		t.mu.Unlock()
		return nil
	}
	given := make(chan struct{})
	t.enqueue(marketplace, given, continued)
	t.mu.Unlock()
	select {
	case <-given:
		return nil
	case <-ctx.Done():
		t.withdraw(marketplace, given)
		return context.Cause(ctx)
	}
}

// enqueue adds a request. LOCKS: mu is held.
func (t *turns) enqueue(marketplace uint16, given chan struct{}, continued bool) {
	d := t.demandOf(marketplace)
	if len(d.continued)+len(d.begin) == 0 {
		t.waiting = append(t.waiting, marketplace)
	}
	if continued {
		d.continued = append(d.continued, given)
	} else {
		d.begin = append(d.begin, given)
	}
}

// withdraw gives up waiting. A turn that was given meanwhile goes to the next.
func (t *turns) withdraw(marketplace uint16, given chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	d := t.demandOf(marketplace)
	is := func(c chan struct{}) bool { return c == given }
	before := len(d.continued) + len(d.begin)
	d.continued = slices.DeleteFunc(d.continued, is)
	d.begin = slices.DeleteFunc(d.begin, is)
	if len(d.continued)+len(d.begin) == before {
		t.free()
		return
	}
	t.dropEmpty(marketplace, d)
}

// dropEmpty removes a marketplace without waiting requests from those that wait. LOCKS: mu is held.
func (t *turns) dropEmpty(marketplace uint16, d *demand) {
	if len(d.continued)+len(d.begin) == 0 {
		t.waiting = slices.DeleteFunc(t.waiting, func(m uint16) bool { return m == marketplace })
	}
}

// give returns a turn that a marketplace has used for so long. It is free after its rest.
func (t *turns) give(marketplace uint16, used time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	d := t.demandOf(marketplace)
	t.used += used
	d.used, d.at = t.attained(d)+used.Seconds(), t.load.now()
	if rest := t.rest(used); rest > 0 {
		time.AfterFunc(rest, func() {
			t.mu.Lock()
			defer t.mu.Unlock()
			t.free()
		})
		return
	}
	t.free()
}

// rest returns how long a turn rests after it was used. LOCKS: mu is held.
func (t *turns) rest(used time.Duration) time.Duration {
	now := t.load.level()
	if now == quiet {
		t.owed = 0
		return 0
	}
	t.owed += used
	if t.owed < restMin {
		return 0
	}
	factor := 1.0
	if now == busy {
		factor = max(factor, float64(t.turnsAt(now))/(t.share*float64(t.cpus))-1)
	}
	rest := min(time.Duration(factor*float64(t.owed)), restMax)
	t.owed = 0
	return rest
}

// free gives the turns that are free to requests that wait, after one more has become free. LOCKS: mu is held.
func (t *turns) free() {
	t.taken--
	for len(t.waiting) > 0 && t.taken < t.limit() {
		m := t.next()
		d := t.marketplaces[m]
		queue := &d.begin
		if len(d.continued) > 0 {
			queue = &d.continued
		}
		given := (*queue)[0]
		*queue = (*queue)[1:]
		t.dropEmpty(m, d)
		t.taken++
		close(given)
	}
}

// next returns the marketplace whose request gets a turn. LOCKS: mu is held, and a request waits.
func (t *turns) next() uint16 {
	best, least := uint16(0), math.Inf(1)
	for _, m := range t.waiting {
		if used := t.attained(t.marketplaces[m]); used < least {
			best, least = m, used
		}
	}
	return best
}

// attained returns the seconds of CPU time that a marketplace has used lately.
func (t *turns) attained(d *demand) float64 {
	return d.used * math.Exp2(-t.load.now().Sub(d.at).Seconds()/usageHalfLife.Seconds())
}

// demandOf returns the demand of a marketplace. LOCKS: mu is held.
func (t *turns) demandOf(marketplace uint16) *demand {
	d := t.marketplaces[marketplace]
	if d == nil {
		d = &demand{at: t.load.now()}
		t.marketplaces[marketplace] = d
	}
	return d
}

// limit returns how many turns there are now. LOCKS: mu is held.
func (t *turns) limit() int { return t.turnsAt(t.load.level()) }

// turnsAt returns how many turns there are at a level of load.
func (t *turns) turnsAt(l level) int {
	if l == quiet {
		return t.cpus
	}
	return max(1, t.cpus-1)
}
