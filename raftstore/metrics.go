package raftstore

import (
	"time"

	"github.com/hashicorp/raft"

	"github.com/gavel-ads/gavel/raftstore/transport"
)

// PeerStatus is a follower as its leader sees it.
type PeerStatus struct {
	Node string
	// Lag is how many entries its log was shorter than the leader's log is now, as of its last answer. Under load it
	// includes what was written since that answer.
	Lag     uint64
	Contact time.Time // When it last answered; zero: never.
}

// peers returns what a leader knows of its followers, and nil on other nodes.
func (g *Group) peers() (all []PeerStatus) {
	if g.raft.State() != raft.Leader {
		return nil
	}
	last, _ := g.log.LastIndex() // Never fails.
	for _, server := range g.servers().Servers {
		if server.ID == g.store.identity.Server {
			continue
		}
		at, end := g.safe.PeerEnd(server.ID)
		all = append(all, PeerStatus{Node: transport.NodeOf(server.ID), Lag: last - min(last, end), Contact: at})
	}
	return all
}

// datedEntry is the time at which the first entry of the log was created.
type datedEntry struct {
	first uint64 // The first index of the log when this was read.
	at    time.Time
}

// undatedMax bounds the entries at the front of a log that no leader created: those of founding and of recovery have no
// time.
const undatedMax = 4

// oldestEntryTime is when a leader created the oldest entry of the log; zero: not known. The log is read only when it
// was truncated since the last call.
func (g *Group) oldestEntryTime() time.Time {
	first, _ := g.log.FirstIndex() // Never fails.
	if known := g.oldestEntry.Load(); known != nil && known.first == first && !known.at.IsZero() {
		return known.at
	}
	if first == 0 || !g.store.acquire() {
		return time.Time{}
	}
	defer g.store.release()
	found := datedEntry{first: first}
	for i := first; i < first+undatedMax && found.at.IsZero(); i++ {
		var l raft.Log
		if g.log.GetLog(i, &l) == nil {
			found.at = l.AppendedAt
		}
	}
	g.oldestEntry.Store(&found)
	return found.at
}
