//go:build linux

package main

import (
	"time"

	"github.com/gavel-ads/gavel/loadtest/nemesis/check"
)

// What is promised of the write gap, by what a fault does. P10, P11, P14 are the promises of the design. A gap is what a client
// sees that gives a silent node 1.2 s before it asks the next one.
var (
	// P10: a failover has a p99 of 5 s, and none lasts longer than 10 s.
	leaderKilled = &check.Bound{Promise: "a leader is killed", P99: 5 * time.Second, Few: true, Max: 10 * time.Second}
	// P10: at most f voters failed or cut off, whichever way. Among these are changes of leaders and members that an operator
	// asks for, in which nobody fails. A p99 is told of a hundred faults and more.
	minorityGone = &check.Bound{Promise: "at most f nodes are gone, cut off, full or wiped", P99: 5 * time.Second, Max: 10 * time.Second}
	// P11: the group is writable again 10 s after the stall began.
	diskHangs = &check.Bound{Promise: "the leader's disk hangs", Max: 10 * time.Second}
	// No event is rejected for more than 5 s.
	restarted = &check.Bound{Promise: "a rolling restart", Max: 5 * time.Second, Singly: true}
	// P14: a follower never delays commits. What remains is a client that asked the follower itself and waits
	// for 1.2 s, at most twice. Commits that waited for a frozen disk would wait for the 5 s of its watchdog.
	followerIll = &check.Bound{Promise: "a follower's disk hangs, is slow or full", Max: 3 * time.Second}
	// Nothing is promised: most of the nodes are gone, or a leader is slow and not gone, which P14 says to slow its groups
	// without saying how much, or packets are lost all over, or leaders move all the time. DESIGN.md has the reasons.
	unbound *check.Bound
)

// bounds are those of every kind.
func bounds() map[string]*check.Bound {
	all := map[string]*check.Bound{}
	for name, k := range kinds {
		all[name] = k.bound
	}
	return all
}
