package transport

import (
	"errors"
	"io"
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

// gateLook is how often a call at a gate looks whether it is wanted still.
const gateLook = 100 * time.Millisecond

// gates hold the calls that replicate to a server that did not answer the last one, until it answers a heartbeat.
//
// Raft v1.8.0 pauses after each call that failed, up to ten seconds after a dozen of them, whatever heartbeats find out
// meanwhile. So a node that had been away for a minute was sent nothing for up to ten seconds after it was back; and when
// another node of three failed in that time, nothing was committed. A call at a gate fails only once in an outage, so the
// pause stays short. Heartbeats never wait for more than half of their timeout, and they are what opens the gate.
type gates struct {
	wanted func(term uint64, id raft.ServerID) bool // Nil: every call is.

	mu   sync.Mutex
	shut map[raft.ServerID]chan struct{} // Closed when the gate opens. BOUND: the servers that were ever members in this life.
}

var errUnwanted = errors.New("this node leads no more, or the server is no member")

// pass waits at the gate of a server.
func (g *gates) pass(id raft.ServerID, term uint64, life <-chan struct{}) error {
	g.mu.Lock()
	shut, wanted := g.shut[id], g.wanted
	g.mu.Unlock()
	if shut == nil || wanted == nil {
		return nil
	}
	look := time.NewTicker(gateLook)
	defer look.Stop()
	for {
		select {
		case <-shut:
			return nil
		case <-life:
			return errUnwanted
		case <-look.C:
			if !wanted(term, id) {
				return errUnwanted
			}
		}
	}
}

// note shuts the gate of a server after a call that failed, and opens it after one that did not.
func (g *gates) note(id raft.ServerID, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	shut := g.shut[id]
	switch {
	case err == nil && shut != nil:
		delete(g.shut, id)
		close(shut)
	case err != nil && shut == nil:
		if g.shut == nil {
			g.shut = map[raft.ServerID]chan struct{}{}
		}
		g.shut[id] = make(chan struct{})
	}
}

// WhileWanted says when replication to a server is wanted: while this node leads in the term and the server is a member. Raft
// tells its transport nothing of that. Before it was said nobody waits at a gate.
func (s Safe) WhileWanted(wanted func(term uint64, id raft.ServerID) bool) {
	s.tap.gates.mu.Lock()
	defer s.tap.gates.mu.Unlock()
	s.tap.gates.wanted = wanted
}

// isHeartbeat tells raft's heartbeats from its other calls as raft does.
func isHeartbeat(args *raft.AppendEntriesRequest) bool {
	return args.PrevLogEntry == 0 && args.PrevLogTerm == 0 && len(args.Entries) == 0 && args.LeaderCommitIndex == 0
}

// AppendEntries calls a follower. Heartbeats are such calls, also beside a pipeline, so it tells who is there.
func (s Safe) AppendEntries(id raft.ServerID, target raft.ServerAddress, args *raft.AppendEntriesRequest, resp *raft.AppendEntriesResponse) error {
	heartbeat, through := isHeartbeat(args), s.quick
	if !heartbeat {
		through = s.NetworkTransport
		if err := s.tap.gates.pass(id, args.Term, s.dial.life.Done()); err != nil {
			return err
		}
	}
	sent := time.Now()
	err := through.AppendEntries(id, aim(id, target), args, resp)
	if err = from(id, resp.RPCHeader, err); err == nil {
		s.tap.peers.Store(id, answer{time.Now(), resp.LastLog})
		if resp.Term == args.Term {
			s.tap.acks.note(id, ack{args.Term, sent})
		}
	}
	if err == nil || !heartbeat {
		s.tap.gates.note(id, err)
	}
	return err
}

// InstallSnapshot sends a follower a snapshot.
func (s Safe) InstallSnapshot(
	id raft.ServerID, target raft.ServerAddress, args *raft.InstallSnapshotRequest, resp *raft.InstallSnapshotResponse, data io.Reader,
) error {
	if err := s.tap.gates.pass(id, args.Term, s.dial.life.Done()); err != nil {
		return err
	}
	err := s.NetworkTransport.InstallSnapshot(id, aim(id, target), args, resp, data)
	s.tap.gates.note(id, err)
	return err
}
