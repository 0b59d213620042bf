// Package transport carries raft between nodes: one peer port, split into streams by a header, and a raft transport per
// group on top of it.
package transport

import (
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
)

const (
	connsPerPeer = 3 // Kept open by a group to each peer.
	ioTimeout    = 10 * time.Second
	// quickTimeout is that of the calls that carry nothing. After a cut the connection of an unanswered one may stay silent for
	// as long as the cut was, because TCP doubles its pauses: a new one is there sooner.
	quickTimeout  = 2 * time.Second
	headerTimeout = 5 * time.Second // Of writing a header.
	// openingTimeout is how long an accepted connection may take to its complete header. Who calls gives up as soon.
	openingTimeout = 2 * time.Second
)

// RPCsInFlight is how many calls with entries may be on their way to one follower, at most and normally. More ruin batching
// and commit latency (hashicorp/raft PR #541); with 1 raft opens no pipeline, and nothing can get stuck in one (raft#612).
const RPCsInFlight = 2

// Safe is a raft transport on which heartbeats take the same way as all other calls.
//
// hashicorp/raft v1.8.0 registers a handler that answers heartbeats outside its main loop. After a heartbeat of a newer
// term the old leader's loop does not notice that its state has changed, and the next command it is given is written
// under the NEW leader's term; the real leader's entry at that index is then skipped as a duplicate, and nodes differ
// (raft#695). Without the handler heartbeats arrive through Consumer, where the loop checks the term first. The price
// is that they queue behind disk writes: a follower whose disk stalls answers late, which clusterTimeout of package raftstore
// speaks of.
//
// It embeds the network transport as a pointer: a wrapper that hides RequestPreVote turns pre-vote off with no more
// than a warning, and one that hides Close leaks connections.
//
// Heartbeats and votes go through a network transport of their own, which is less patient; its connections are others.
type Safe struct {
	*raft.NetworkTransport
	quick *raft.NetworkTransport
	tap   *tap
	dial  *dialer
}

var (
	_ raft.Transport   = Safe{}
	_ raft.WithPreVote = Safe{}
	_ raft.WithClose   = Safe{}
)

// SetHeartbeatHandler does nothing; see Safe.
func (Safe) SetHeartbeatHandler(func(raft.RPC)) {}

// New returns the transport of a group over its streams, with so many calls on their way to a follower: 1 to RPCsInFlight.
func New(streams *Streams, rpcs int, logger hclog.Logger) Safe {
	d := newDialer(streams)
	return Safe{network(d, rpcs, logger, ioTimeout), network(d, rpcs, logger, quickTimeout), newTap(streams, logger), d}
}

func network(streams raft.StreamLayer, rpcs int, logger hclog.Logger, timeout time.Duration) *raft.NetworkTransport {
	return raft.NewNetworkTransportWithConfig(&raft.NetworkTransportConfig{
		Stream: streams, MaxPool: connsPerPeer, MaxRPCsInFlight: rpcs, Timeout: timeout, Logger: logger,
	})
}

// answer is what the last answer of a follower told.
type answer struct {
	at  time.Time
	end uint64 // Of its log.
}

// PeerContact is when a follower last answered this node as its leader; zero: never.
func (s Safe) PeerContact(id raft.ServerID) time.Time {
	at, _ := s.PeerEnd(id)
	return at
}

// PeerEnd is when that was, and where the follower's log ended then. Heartbeats tell it, so under load the end is as old as
// they are apart.
func (s Safe) PeerEnd(id raft.ServerID) (at time.Time, end uint64) {
	if last, found := s.tap.peers.Load(id); found {
		a := last.(answer)
		return a.at, a.end
	}
	return time.Time{}, 0
}
