package login

import (
	"net/netip"
	"strings"
	"sync"
	"time"
)

// LockWindow is how long failed attempts count, and so the longest lock.
const LockWindow = 15 * time.Minute

// The failed attempts after which further ones are refused until the window of the first has passed. An account has two limits,
// because one limit for everybody would let anybody lock its owner out with a handful of requests: an address is locked out of an
// account soon, and an account as a whole only after many addresses have guessed.
const (
	failuresOfPair    = 10  // Of one address for one account.
	failuresOfAddress = 50  // Of one address for whatever accounts.
	failuresOfAccount = 100 // For one account from whatever addresses.
)

// countersMax is the most counters. BOUND: about 10 MB. Only somebody with very many addresses fills the table; then counters are
// dropped early, which allows some attempts more. Refusing all instead would lock everybody out, and the Hasher bounds the attempts
// of all addresses together anyway.
const countersMax = 50_000

// Attempts counts failed sign-ins of this node. Each node counts its own, so several nodes allow a multiple of the limits.
type Attempts struct {
	mu       sync.Mutex
	counters map[subject]*counter
}

// subject is what a counter counts. The member that does not matter is zero.
type subject struct {
	kind    int // The index in limits, so that an empty account is not taken for every account.
	address netip.Prefix
	account string
}

type counter struct {
	ends  time.Time
	count int
}

// NewAttempts returns empty counters.
func NewAttempts() *Attempts { return &Attempts{counters: map[subject]*counter{}} }

// Attempt is one attempt to sign in, which counts as a failure until it Succeeded.
type Attempt struct {
	of       *Attempts
	subjects [3]subject
}

// limits are in the order of Attempt.subjects.
var limits = [3]int{failuresOfPair, failuresOfAddress, failuresOfAccount}

// ipv6Bits is the part of an IPv6 address that counts: whoever has one address of a /64 has all of them.
const ipv6Bits = 64

// Begin counts an attempt before its password is compared, so that attempts at the same moment count, too. allowed is false for
// somebody who is locked out; until is then the time from which another attempt is allowed.
func (a *Attempts) Begin(address netip.Addr, account string, now time.Time) (x Attempt, until time.Time, allowed bool) {
	bits := address.BitLen()
	if address.Is6() {
		bits = ipv6Bits
	}
	from := netip.PrefixFrom(address, bits).Masked()
	account = strings.ToLower(strings.TrimSpace(account))
	x = Attempt{a, [3]subject{{0, from, account}, {kind: 1, address: from}, {kind: 2, account: account}}}
	a.mu.Lock()
	defer a.mu.Unlock()
	for i, s := range x.subjects {
		c := a.counters[s]
		if c != nil && now.Before(c.ends) && c.count >= limits[i] && c.ends.After(until) {
			until = c.ends
		}
	}
	if !until.IsZero() {
		return x, until, false
	}
	a.evict(now)
	for _, s := range x.subjects {
		c := a.counters[s]
		if c == nil || !now.Before(c.ends) {
			c = &counter{ends: now.Add(LockWindow)}
			a.counters[s] = c
		}
		c.count++
	}
	return x, time.Time{}, true
}

// evict makes space for the counters of another attempt. It drops an eighth of a full table, so that the next thousands of attempts
// do not read it again. LOCKS: mu is held.
func (a *Attempts) evict(now time.Time) {
	if len(a.counters) <= countersMax-len(limits) {
		return
	}
	const most = countersMax / 8 * 7
	for s, c := range a.counters {
		if !now.Before(c.ends) {
			delete(a.counters, s)
		}
	}
	for s := range a.counters {
		if len(a.counters) <= most {
			return
		}
		delete(a.counters, s)
	}
}

// Succeeded takes the attempt back. The failures of the address for this account are forgotten; the other counters keep what others
// did, so nobody clears them by signing in to an account of their own in between.
func (x Attempt) Succeeded() {
	x.of.mu.Lock()
	defer x.of.mu.Unlock()
	delete(x.of.counters, x.subjects[0])
	x.decrement(x.subjects[1:])
}

// Withdraw takes the attempt back and nothing else. It is for a password that is right where a second factor is still missing: that is
// no failure, and no success that would clear the failures of the address, or whoever knows a password could guess codes for ever.
func (x Attempt) Withdraw() {
	x.of.mu.Lock()
	defer x.of.mu.Unlock()
	x.decrement(x.subjects[:])
}

// decrement takes one from counters. LOCKS: mu is held.
func (x Attempt) decrement(of []subject) {
	for _, s := range of {
		if c := x.of.counters[s]; c != nil && c.count > 0 {
			c.count--
		}
	}
}
