package store

import (
	"context"
	"maps"
	"sync"

	"github.com/gavel-ads/gavel/node/limits"
	"github.com/gavel-ads/gavel/shard/ids"
)

// Session records what one request has read and written so far. A tenant with a session reads linearizably: before its first
// read of a group it waits until this node has applied every command that any node answered before. A tenant without a
// session, or with a local one, reads what this node has applied.
//
// INVARIANT: a session reads its own writes, because a write returns only when this node has applied it.
type Session struct {
	ctx   context.Context
	local bool

	mu      sync.Mutex
	current map[ids.Group]bool
	wrote   map[ids.Group]uint64
}

// NewSession begins a session. Its waits end with an error when the context ends. local makes its reads local.
func NewSession(ctx context.Context, local bool) *Session {
	return &Session{ctx: ctx, local: local, current: map[ids.Group]bool{}, wrote: map[ids.Group]uint64{}}
}

// context returns that of the request. That of a nil session never ends.
func (s *Session) context() context.Context {
	if s == nil {
		return context.Background()
	}
	return s.ctx
}

// LastWrites returns, for each group that the session wrote to, the log index of its last write.
func (s *Session) LastWrites() map[ids.Group]uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.wrote)
}

// WithSession returns a copy of the tenant that reads and writes in a session.
func (t Tenant) WithSession(s *Session) Tenant {
	t.session = s
	return t
}

// AwaitCurrent waits until this node's copy of a group is as new as the session needs. Reads of the store do it by themselves;
// a caller that reads the published market view instead has to call it first.
func (t Tenant) AwaitCurrent(g ids.Group) error {
	s := t.session
	if s == nil || s.local {
		return nil
	}
	s.mu.Lock()
	fresh := s.current[g]
	s.mu.Unlock()
	if fresh {
		return nil
	}
	resume := limits.Waiting(s.ctx)
	err := t.store.Groups.Barrier(s.ctx, g)
	resume()
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.current[g] = true
	return nil
}

// recordWrite keeps the log index of a write. A nil session ignores it.
func (s *Session) recordWrite(g ids.Group, index uint64) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wrote[g] = max(s.wrote[g], index)
}
