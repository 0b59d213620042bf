package transport

import (
	"errors"
	"io"
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

// breakerPoll is the time between two checks whether a held call is still wanted.
const breakerPoll = 100 * time.Millisecond

// breakers hold back the calls that replicate to a server that did not answer the last one, until it answers a
// heartbeat.
//
// Raft v1.8.0 pauses after each failed call, up to ten seconds after a dozen of them, whatever heartbeats find out
// meanwhile. So a node that had been away for a minute was sent nothing for up to ten seconds after it was back; and
// when another node of three failed in that time, nothing was committed. A call that is held back fails only once in an
// outage, so the pause stays short. Heartbeats are never held back, Raft repeats them within half of their timeout, and
// their answers release the calls.
type breakers struct {
	wanted func(term uint64, id raft.ServerID) bool // Reports whether a call is wanted. Nil: no call is held back.

	mu      sync.Mutex
	blocked map[raft.ServerID]chan struct{} // Closed to release the calls. BOUND: the servers that were members since the process started.
}

var errNotReplicating = errors.New("this node no longer leads, or the server is no longer a member")

// wait blocks while calls to a server are held back. It returns errNotReplicating when done is closed, or when the call
// is no longer wanted.
func (g *breakers) wait(id raft.ServerID, term uint64, done <-chan struct{}) error {
	g.mu.Lock()
	shut, wanted := g.blocked[id], g.wanted
	g.mu.Unlock()
	if shut == nil || wanted == nil {
		return nil
	}
	look := time.NewTicker(breakerPoll)
	defer look.Stop()
	for {
		select {
		case <-shut:
			return nil
		case <-done:
			return errNotReplicating
		case <-look.C:
			if !wanted(term, id) {
				return errNotReplicating
			}
		}
	}
}

// record holds calls to a server back after one that failed, and releases them after one that succeeded.
func (g *breakers) record(id raft.ServerID, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	shut := g.blocked[id]
	switch {
	case err == nil && shut != nil:
		delete(g.blocked, id)
		close(shut)
	case err != nil && shut == nil:
		if g.blocked == nil {
			g.blocked = map[raft.ServerID]chan struct{}{}
		}
		g.blocked[id] = make(chan struct{})
	}
}

// SetReplicationWanted sets the function that reports whether replication to a server is wanted: while this node leads
// in the term and the server is a member. Raft does not pass that to its transport. Before it is set no call is held
// back.
func (s Safe) SetReplicationWanted(wanted func(term uint64, id raft.ServerID) bool) {
	s.filter.breakers.mu.Lock()
	defer s.filter.breakers.mu.Unlock()
	s.filter.breakers.wanted = wanted
}

// isHeartbeat distinguishes Raft's heartbeats from its other calls in the way Raft does.
func isHeartbeat(args *raft.AppendEntriesRequest) bool {
	return args.PrevLogEntry == 0 && args.PrevLogTerm == 0 && len(args.Entries) == 0 && args.LeaderCommitIndex == 0
}

// AppendEntries calls a follower. Heartbeats are such calls, also beside a pipeline, so their answers show which
// followers are reachable.
func (s Safe) AppendEntries(id raft.ServerID, target raft.ServerAddress, args *raft.AppendEntriesRequest, resp *raft.AppendEntriesResponse) error {
	heartbeat, through := isHeartbeat(args), s.quick
	if !heartbeat {
		through = s.NetworkTransport
		if err := s.filter.breakers.wait(id, args.Term, s.dial.ctx.Done()); err != nil {
			return err
		}
	}
	sent := time.Now()
	err := through.AppendEntries(id, withServer(id, target), args, resp)
	if err = checkResponder(id, resp.RPCHeader, err); err == nil {
		s.filter.peers.Store(id, answer{time.Now(), resp.LastLog})
		if resp.Term == args.Term {
			s.filter.acks.record(id, ack{args.Term, sent})
		}
	}
	if err == nil || !heartbeat {
		s.filter.breakers.record(id, err)
	}
	return err
}

// InstallSnapshot sends a follower a snapshot.
func (s Safe) InstallSnapshot(
	id raft.ServerID, target raft.ServerAddress, args *raft.InstallSnapshotRequest, resp *raft.InstallSnapshotResponse, data io.Reader,
) error {
	if err := s.filter.breakers.wait(id, args.Term, s.dial.ctx.Done()); err != nil {
		return err
	}
	err := s.NetworkTransport.InstallSnapshot(id, withServer(id, target), args, resp, data)
	s.filter.breakers.record(id, err)
	return err
}
