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
	// lightPart is the part of the share that the light pool has in addition: enough for some short requests a second, and
	// too little to matter beside auctions.
	lightPart = 4
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
//
// The rest after a long use would delay that single request all the same, by up to restMax at each step of it. So one more
// turn, the light pool, is only for marketplaces that have used little (isLight), and rests only after its own uses.
//
// INVARIANT: no more requests compute at a time than limit allows, in both pools together.
type turns struct {
	cpus int

	mu            sync.Mutex
	load          load
	common, light pool
	used          time.Duration      // By all marketplaces since the start.
	waiting       []uint16           // Marketplaces with waiting requests.
	marketplaces  map[uint16]*demand // BOUND: 65,536 marketplaces of 100 bytes.
}

// pool is turns that rest for each other.
type pool struct {
	share              float64 // Of the CPUs, for all its turns on a busy node.
	computing, resting int
	owed               time.Duration // Computing time that was too short for a rest of its own.
}

func (p *pool) taken() int { return p.computing + p.resting }

// demand is what the requests of a marketplace wait for and have used. A turn is given by sending its pool.
type demand struct {
	continued, begin []chan *pool // Oldest first, each with space for one pool.
	used             float64      // Seconds, decayed to the time of at.
	at               time.Time
}

func newTurns(cpus int, share float64, answered func() uint64, now func() time.Time) *turns {
	return &turns{
		cpus: cpus, common: pool{share: share}, light: pool{share: share / lightPart}, marketplaces: map[uint16]*demand{},
		load: load{answered: answered, now: now, cpus: cpus},
	}
}

// take waits for a turn, of a request that begins or one that continues, and returns its pool for give. A free one is given also
// when ctx has ended: a client that has closed its sending side may still read. An error is that of ctx, and then there is no turn.
func (t *turns) take(ctx context.Context, marketplace uint16, continued bool) (*pool, error) {
	t.mu.Lock()
	if len(t.waiting) == 0 {
		if p := t.free(t.demandOf(marketplace)); p != nil {
			p.computing++
			t.mu.Unlock()
			return p, nil
		}
	}
	given := make(chan *pool, 1)
	t.enqueue(marketplace, given, continued)
	t.grant()
	t.mu.Unlock()
	select {
	case p := <-given:
		return p, nil
	case <-ctx.Done():
		t.withdraw(marketplace, given)
		return nil, context.Cause(ctx)
	}
}

// free returns the pool in which a request of a marketplace may compute now, or nil. LOCKS: mu is held.
func (t *turns) free(d *demand) *pool {
	limit := t.limit()
	switch {
	case t.common.computing+t.light.computing >= limit:
		return nil
	case t.common.taken() < limit:
		return &t.common
	case t.light.taken() == 0 && t.isLight(d):
		return &t.light
	default:
		return nil
	}
}

// isLight reports whether a marketplace has used little: at most the part that the light pool adds of what all would have
// attained that use up the share of a busy node all the time.
func (t *turns) isLight(d *demand) bool {
	all := t.common.share * float64(t.cpus) * usageHalfLife.Seconds() / math.Ln2
	return t.attained(d) <= all/lightPart
}

// enqueue adds a request. LOCKS: mu is held.
func (t *turns) enqueue(marketplace uint16, given chan *pool, continued bool) {
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
func (t *turns) withdraw(marketplace uint16, given chan *pool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	select {
	case p := <-given:
		p.computing--
		t.grant()
		return
	default:
	}
	d := t.demandOf(marketplace)
	is := func(c chan *pool) bool { return c == given }
	d.continued = slices.DeleteFunc(d.continued, is)
	d.begin = slices.DeleteFunc(d.begin, is)
	t.dropEmpty(marketplace, d)
}

// dropEmpty removes a marketplace without waiting requests from those that wait. LOCKS: mu is held.
func (t *turns) dropEmpty(marketplace uint16, d *demand) {
	if len(d.continued)+len(d.begin) == 0 {
		t.waiting = slices.DeleteFunc(t.waiting, func(m uint16) bool { return m == marketplace })
	}
}

// give returns a turn of a pool that a marketplace has used for so long. It is free after its rest.
func (t *turns) give(p *pool, marketplace uint16, used time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	d := t.demandOf(marketplace)
	t.used += used
	d.used, d.at = t.attained(d)+used.Seconds(), t.load.now()
	p.computing--
	if rest := t.rest(p, used); rest > 0 {
		p.resting++
		time.AfterFunc(rest, func() {
			t.mu.Lock()
			defer t.mu.Unlock()
			p.resting--
			t.grant()
		})
	}
	t.grant()
}

// rest returns how long a turn rests after it was used. LOCKS: mu is held.
func (t *turns) rest(p *pool, used time.Duration) time.Duration {
	now := t.load.level()
	if now == quiet {
		p.owed = 0
		return 0
	}
	p.owed += used
	if p.owed < restMin {
		return 0
	}
	factor := 1.0
	if now == busy {
		factor = max(factor, float64(t.turnsOf(p, now))/(p.share*float64(t.cpus))-1)
	}
	rest := min(time.Duration(factor*float64(p.owed)), restMax)
	p.owed = 0
	return rest
}

// grant gives the turns that are free to requests that wait. When there is none for the marketplace that has used the least,
// there is none for any. LOCKS: mu is held.
func (t *turns) grant() {
	for len(t.waiting) > 0 {
		m := t.next()
		d := t.marketplaces[m]
		p := t.free(d)
		if p == nil {
			return
		}
		queue := &d.begin
		if len(d.continued) > 0 {
			queue = &d.continued
		}
		given := (*queue)[0]
		*queue = (*queue)[1:]
		t.dropEmpty(m, d)
		p.computing++
		given <- p
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

// limit returns how many requests may compute now. LOCKS: mu is held.
func (t *turns) limit() int { return t.turnsOf(&t.common, t.load.level()) }

// turnsOf returns how many turns a pool has at a level of load.
func (t *turns) turnsOf(p *pool, now level) int {
	switch {
	case p == &t.light:
		return 1
	case now == quiet:
		return t.cpus
	default:
		return max(1, t.cpus-1)
	}
}
