package raftstore

import (
	"bytes"
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"github.com/gavel-ads/gavel/raftstore/proposal"
	"github.com/gavel-ads/gavel/raftstore/statedb"
	"github.com/gavel-ads/gavel/raftstore/transport"
)

const (
	divergedName = "diverged.json"
	divergedTmp  = "diverged.json.tmp"

	checksKept   = 16              // BOUND: state checks of a group that a node remembers.
	checkPeers   = 64              // BOUND: nodes whose digests are remembered for a check.
	checkPoll    = time.Second     // Longest time between two tests of a leader whether a check is due.
	checkTimeout = 4 * time.Second // Bounds the exchange of digests with one member.
	checkBatch   = 256             // BOUND: digests in one question.
)

// checkMark in the extensions of an entry without commands asks every replica for the digest of its state at that
// entry. A binary that does not know it applies nothing.
var checkMark = []byte("GV check 1")

// stateChecks finds a replica whose state differs from that of the majority, and ends its process.
//
// The leader of a group appends a check to the log now and then. A replica that applies it ends its batch there, so
// that all replicas take the digest of the same state, and sends the digest to all other members. Each compares for
// itself: when more than half of the voters have one digest and its own is another, its state is wrong, whoever leads.
// It marks its directory (ErrDiverged at the next start) and ends the process, perhaps before the others learn of the
// difference.
//
// INVARIANT: no replica of a majority is ended: two different digests cannot both have more than half of the voters.
// Where no digest has a majority, no process ends, and the log says so.
// INVARIANT: two replicas compare when the later one has applied the check: a question carries the digest of the asking
// node, and the answer that of the asked one if it has come as far. A replica that was down compares at the next check,
// or when it replays this one.
type stateChecks struct {
	store *Store

	mu     sync.Mutex
	checks map[uint16][]*check // By group, oldest first.
	wake   chan struct{}

	agreed     atomic.Uint64
	mismatches atomic.Uint64
}

// check is one state check of a group and the digests that are known of it.
type check struct {
	index          uint64
	digest         uint64 // This node's digest, valid when applied.
	applied        bool
	sent           bool              // The digest was sent to the other members.
	peerDigests    map[string]uint64 // Digests of other nodes, by node id.
	countedAgreed  bool              // The check is counted in stateChecks.agreed.
	countedDiffers bool              // The check is counted in stateChecks.mismatches.
}

// digestReport is the digest of one node at one check, as nodes send it to each other.
type digestReport struct {
	Group  uint16 `json:"group"`
	Index  uint64 `json:"index"`
	Digest uint64 `json:"digest"`
}

func (a *stateChecks) init(s *Store) {
	a.store, a.checks, a.wake = s, map[uint16][]*check{}, make(chan struct{}, 1)
}

// isCheck reports whether an entry is a state check.
func isCheck(l *raft.Log) bool { return bytes.Equal(l.Extensions, checkMark) }

// recordLocal records this node's digest at a check that it has just applied.
func (a *stateChecks) recordLocal(group uint16, applied statedb.Applied) {
	a.mu.Lock()
	c := a.findOrAdd(group, applied.Index)
	c.digest, c.applied = applied.Digest, true
	a.mu.Unlock()
	a.signal()
}

// signal wakes run.
func (a *stateChecks) signal() {
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// findOrAdd returns the check at an index, a new one if need be. LOCKS: mu is held.
func (a *stateChecks) findOrAdd(group uint16, index uint64) *check {
	all := a.checks[group]
	i, found := slices.BinarySearchFunc(all, index, func(c *check, index uint64) int {
		switch {
		case c.index < index:
			return -1
		case c.index > index:
			return 1
		}
		return 0
	})
	if found {
		return all[i]
	}
	c := &check{index: index, peerDigests: map[string]uint64{}}
	all = slices.Insert(all, i, c)
	a.checks[group] = all[max(0, len(all)-checksKept):]
	return c
}

// run proposes checks where this node leads, and sends digests to the other members after each check that it applied.
func (a *stateChecks) run() {
	s := a.store
	ticker := time.NewTicker(min(checkPoll, s.c.CheckInterval))
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			for _, id := range s.c.Groups {
				s.groups[id].proposeCheck()
			}
		case <-a.wake:
			a.sendDigests()
		case <-s.ctx.Done():
			return
		}
	}
}

// proposeCheck appends a check when this node leads, the group has another member, and a check is due.
func (g *Group) proposeCheck() {
	m := g.machine
	applied, last := m.applied.Load().index, m.lastCheck.Load()
	since := time.Since(m.lastCheckAt.Time())
	due := applied >= last+g.store.c.CheckEntries || applied > last && since >= g.store.c.CheckInterval
	if !due || !g.Ready() || len(g.servers().Servers) < 2 || g.store.space.Low() {
		return
	}
	m.lastCheckAt.Mark() // One attempt in an interval, whether it succeeds or not.
	f := g.raft.ApplyLog(raft.Log{Data: proposal.EmptyEntry(), Extensions: checkMark}, checkTimeout)
	g.store.background.Go(func() { _ = f.Error() }) // The next one is due anyway.
}

// sendDigests sends this node's new digests to all members, and records the digests in their answers.
func (a *stateChecks) sendDigests() {
	var unsent []digestReport
	a.mu.Lock()
	for group, all := range a.checks {
		for _, c := range all {
			if c.applied && !c.sent && len(unsent) < checkBatch {
				c.sent = true
				unsent = append(unsent, digestReport{group, c.index, c.digest})
			}
		}
	}
	a.mu.Unlock()
	if len(unsent) == checkBatch {
		a.signal()
	}
	peers := map[string]string{}
	for _, f := range unsent {
		for _, server := range a.store.groups[f.Group].servers().Servers {
			peers[transport.NodeOf(server.ID)] = string(server.Address)
		}
		a.evaluate(f.Group, f.Index)
	}
	delete(peers, a.store.c.NodeID)
	for node, address := range peers {
		a.store.background.Go(func() { a.exchange(node, address, unsent) })
	}
}

func (a *stateChecks) exchange(node, address string, unsent []digestReport) {
	ctx, cancel := context.WithTimeout(a.store.ctx, checkTimeout)
	defer cancel()
	reply, _, err := tellDigests.Ask(ctx, a.store.control, address, digestReports{unsent})
	if err == nil {
		a.recordPeerDigests(node, reply.Digests)
	}
}

// answer records the digests of another node and returns those of this one at the same checks.
func (a *stateChecks) answer(node string, received []digestReport) (local []digestReport) {
	a.recordPeerDigests(node, received)
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, t := range received {
		for _, c := range a.checks[t.Group] {
			if c.index == t.Index && c.applied {
				local = append(local, digestReport{t.Group, t.Index, c.digest})
			}
		}
	}
	return local
}

// recordPeerDigests records the digests of another node. The first digest of a node for a check counts.
func (a *stateChecks) recordPeerDigests(node string, received []digestReport) {
	for _, t := range received {
		if a.store.groups[t.Group] == nil {
			continue
		}
		a.mu.Lock()
		c := a.findOrAdd(t.Group, t.Index)
		if _, known := c.peerDigests[node]; !known && len(c.peerDigests) < checkPeers {
			c.peerDigests[node] = t.Digest
		}
		a.mu.Unlock()
		a.evaluate(t.Group, t.Index)
	}
}
