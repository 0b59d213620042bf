package market

import (
	"sync"
	"sync/atomic"
)

// Enrolled is a user for whom a bid of a campaign with a holdout has won an auction, or would have won it.
type Enrolled struct {
	Group   uint16
	Ordinal uint32 // The campaign's, within its Raft group.
	Percent uint8
	User    uint64
	Millis  int64
}

// enrolled holds who was enrolled on this node and is not collected yet. Auctions of campaigns without a holdout never touch
// it.
type enrolled struct {
	recent atomic.Pointer[recentEnrolled] // Nil before the first enrolment.

	mu      sync.Mutex // LOCKS: guards waiting.
	waiting []Enrolled
}

// recentEnrolled remembers who was enrolled, so that the many auctions of a user enrol the user once. An entry is the hash of
// user, campaign and day; two that share a place displace each other, and then a user is enrolled again, which changes
// nothing.
type recentEnrolled [recentPlaces]atomic.Uint64

const (
	recentPlaces = 1 << 16 // BOUND: 512 KB.
	// enrolledMax is how many users may wait for a collection. BOUND: 2.6 MB. Further users are left out until their next
	// auction.
	enrolledMax = 1 << 16
)

// Enrol enrols a user of an auction at a time in the measurement of a campaign, unless the user's arm is Unmeasured. It may
// be called concurrently. REQUIRES: the campaign has the flag CampaignHoldout.
func (v *View) Enrol(campaign uint32, user uint64, nowMillis int64) {
	holdout := &v.Terms(campaign).Holdout
	if holdout.Arm(user) == Unmeasured {
		return
	}
	c := v.Campaign(campaign)
	const dayMillis = 24 * 3600 * 1000
	key := max(1, Mix(Mix(uint64(c.Group)<<32|uint64(c.Ordinal), user), uint64(nowMillis/dayMillis)<<8|uint64(holdout.Percent))) // Not negative.
	place := &v.enrolled.places()[key%recentPlaces]
	if place.Load() == key {
		return
	}
	x := Enrolled{Group: c.Group, Ordinal: c.Ordinal, Percent: holdout.Percent, User: user, Millis: nowMillis}
	if v.enrolled.add(&x) {
		place.Store(key)
	}
}

func (e *enrolled) places() *recentEnrolled {
	if p := e.recent.Load(); p != nil {
		return p
	}
	e.recent.CompareAndSwap(nil, new(recentEnrolled))
	return e.recent.Load()
}

// add reports whether there was space.
func (e *enrolled) add(x *Enrolled) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.waiting) >= enrolledMax {
		return false
	}
	e.waiting = append(e.waiting, *x)
	return true
}

// CollectEnrolled appends the users that were enrolled since the last call, at most enrolledMax.
func (m *Market) CollectEnrolled(dst []Enrolled) []Enrolled {
	m.enrolled.mu.Lock()
	defer m.enrolled.mu.Unlock()
	dst = append(dst, m.enrolled.waiting...)
	m.enrolled.waiting = m.enrolled.waiting[:0]
	return dst
}
