// Package transport carries Raft between nodes: one peer port, whose connections a header assigns to a group and kind,
// and a Raft transport per group on top of it. It also verifies certificates, bounds connections, and works around
// defects of hashicorp/raft v1.8.0. DESIGN.md says why.
package transport

import (
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
)

const (
	connsPerPeer = 3                // Idle connections that a group keeps to each peer.
	ioTimeout    = 10 * time.Second // Of calls with entries, and of a snapshot's call.
	// quickTimeout is the timeout of heartbeats and votes, which carry no entries. After a cut, the connection of an
	// unanswered call may stay silent for as long as the cut lasted, because TCP doubles its pauses; a new connection
	// answers sooner.
	quickTimeout  = 2 * time.Second
	headerTimeout = 5 * time.Second // For writing a header.
	// openingTimeout is how long an accepted connection may take until its header is complete. The dialling side gives
	// up as soon.
	openingTimeout = 2 * time.Second
)

// RPCsInFlight is how many calls with entries may be on their way to one follower, by default and at most. More make
// batches smaller and commits slower (hashicorp/raft PR #541); with 1 Raft opens no pipeline, so that nothing can get
// stuck in one (raft#612).
const RPCsInFlight = 2

// Safe is a Raft transport on which heartbeats take the same way as all other calls.
//
// hashicorp/raft v1.8.0 registers a handler that answers heartbeats outside its main loop. After a heartbeat of a newer
// term the old leader's loop does not notice that its state has changed, and the next command it is given is written
// under the NEW leader's term; the real leader's entry at that index is then skipped as a duplicate, and replicas
// differ (raft#695). Without the handler heartbeats arrive through Consumer, where the loop checks the term first. The
// price is that they queue behind disk writes: a follower whose disk stalls answers late; see Timeout of package
// leadership.
//
// It embeds the network transport as a pointer: a wrapper that hides RequestPreVote turns pre-vote off with no more
// than a warning, and one that hides Close leaks connections.
//
// Heartbeats and votes go through a network transport of their own, with a shorter timeout and separate connections.
type Safe struct {
	*raft.NetworkTransport
	quick  *raft.NetworkTransport
	filter *rpcFilter
	dial   *dialer
}

var (
	_ raft.Transport   = Safe{}
	_ raft.WithPreVote = Safe{}
	_ raft.WithClose   = Safe{}
)

// SetHeartbeatHandler does nothing; see Safe.
func (Safe) SetHeartbeatHandler(func(raft.RPC)) {}

// New returns the transport of a group over its streams. rpcs is how many calls may be on their way to one follower, 1
// to RPCsInFlight.
func New(streams *Streams, rpcs int, logger hclog.Logger) Safe {
	d := newDialer(streams)
	return Safe{network(d, rpcs, logger, ioTimeout), network(d, rpcs, logger, quickTimeout), newRPCFilter(streams, logger), d}
}

func network(streams raft.StreamLayer, rpcs int, logger hclog.Logger, timeout time.Duration) *raft.NetworkTransport {
	return raft.NewNetworkTransportWithConfig(&raft.NetworkTransportConfig{
		Stream: streams, MaxPool: connsPerPeer, MaxRPCsInFlight: rpcs, Timeout: timeout, Logger: logger,
	})
}

// answer is the content of a follower's last answer.
type answer struct {
	at  time.Time
	end uint64 // The last index of its log.
}

// PeerContact is the time at which a follower last answered this node as its leader; zero: never.
func (s Safe) PeerContact(id raft.ServerID) time.Time {
	at, _ := s.PeerEnd(id)
	return at
}

// PeerEnd returns that time, and the last index of the follower's log then. Heartbeats report it, so under load the
// index is as old as the time between two of them.
func (s Safe) PeerEnd(id raft.ServerID) (at time.Time, end uint64) {
	if last, found := s.filter.peers.Load(id); found {
		a := last.(answer)
		return a.at, a.end
	}
	return time.Time{}, 0
}
