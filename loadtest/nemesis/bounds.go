//go:build linux

package main

import (
	"time"

	"github.com/gavel-ads/gavel/loadtest/nemesis/check"
)

// The bounds of the write gap, by what a fault does. Promises P10 (availability with f failures), P11 (gray failure) and P14 (slow
// disk or follower) are those of node/PROMISES.md. A gap is what a client sees that waits 1.2 s for a silent node before it asks
// the next one.
var (
	// Promise P10: a failover has a p99 of 5 s, and none lasts longer than 10 s.
	leaderKilled = &check.Bound{Promise: "a leader is killed", P99: 5 * time.Second, Few: true, Max: 10 * time.Second}
	// Promise P10: at most f voters have failed or are cut off, whatever the cause. Changes of leaders and members that an operator
	// asks for belong here too; no node fails in them. The p99 is checked of a hundred faults and more.
	minorityFails = &check.Bound{Promise: "at most f nodes are down, cut off, full or wiped", P99: 5 * time.Second, Max: 10 * time.Second}
	// Promise P11: the group is writable again 10 s after the stall began.
	diskHangs = &check.Bound{Promise: "the leader's disk hangs", Max: 10 * time.Second}
	// No event is rejected for more than 5 s.
	rollingRestart = &check.Bound{Promise: "a rolling restart", Max: 5 * time.Second, Singly: true}
	// Promise P14: a slow follower never delays commits. The rest is a client that asked the follower itself and waits for 1.2 s, at
	// most twice. Commits that waited for a frozen disk would wait for the 5 s of the node's watchdog, which this bound finds.
	followerDiskFails = &check.Bound{Promise: "a follower's disk hangs, is slow or full", Max: 3 * time.Second}
	// Nothing is promised when a majority of the nodes is down, when a leader's disk is slow (promise P14 says that its groups become
	// slower, not how much), when packets are lost on all links, or when leaders move all the time. DESIGN.md has the reasons.
	noBound *check.Bound
)

// bounds returns the bound of every kind of fault; nil: nothing is promised.
func bounds() map[string]*check.Bound {
	all := map[string]*check.Bound{}
	for name, k := range kinds {
		all[name] = k.bound
	}
	return all
}
