package raftstore

import (
	"context"
	"net"

	"github.com/gavel-ads/gavel/raftstore/forward"
)

// forwardLeader serves the requests that other nodes forward to this one.
type forwardLeader struct{ store *Store }

var _ forward.Leader = forwardLeader{}

// serveForward serves one forward connection.
func (s *Store) serveForward(c net.Conn) { forward.Serve(s.ctx, c, forwardLeader{s}) }

// ready returns the group if this node is ready as its leader, or nil.
func (l forwardLeader) ready(group uint16) *Group {
	if g := l.group(group); g != nil && g.Ready() {
		return g
	}
	return nil
}

func (l forwardLeader) group(id uint16) *Group {
	if !l.store.serving.Load() {
		return nil
	}
	return l.store.groups[id]
}

// Propose commits a command as the leader.
func (l forwardLeader) Propose(ctx context.Context, group uint16, cmd []byte) (result []byte, index uint64, err error) {
	g := l.ready(group)
	if g == nil {
		return nil, 0, ErrNotLeader
	}
	return g.proposeLocal(ctx, cmd)
}

// ReadIndex confirms that this node leads and returns a read index.
func (l forwardLeader) ReadIndex(ctx context.Context, group uint16) (uint64, error) {
	g := l.ready(group)
	if g == nil {
		return 0, ErrNotLeader
	}
	return g.lead.ReadIndex(ctx)
}

// Address returns the address of the leader as far as this node knows, or "".
func (l forwardLeader) Address(group uint16) string {
	if g := l.group(group); g != nil {
		return g.lead.Address()
	}
	return ""
}
