package store

import (
	"context"
	"maps"
	"sync"

	"github.com/gavel-ads/gavel/node/background"
	"github.com/gavel-ads/gavel/shard/ids"
)

// Session is what one request has read and written so far. A tenant with a session reads linearizably: before its first
// read of a group it waits until this node has every command that was answered before, on whatever node. A tenant without
// one, or with a local one, reads what this node has.
//
// INVARIANT: a session reads its own writes, because a write returns only when this node has applied it.
type Session struct {
	ctx   context.Context
	local bool

	mu    sync.Mutex
	fresh map[ids.Group]bool
	wrote map[ids.Group]uint64
}

// NewSession begins a session. Its reads end with the context.
func NewSession(ctx context.Context, local bool) *Session {
	return &Session{ctx: ctx, local: local, fresh: map[ids.Group]bool{}, wrote: map[ids.Group]uint64{}}
}

// Wrote is how far each group that the session wrote to was after its last write.
func (s *Session) Wrote() map[ids.Group]uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.wrote)
}

// In returns the tenant as a session sees it.
func (t Tenant) In(s *Session) Tenant {
	t.session = s
	return t
}

// Fresh waits until this node's copy of a group is good enough for the session. Reads do it by themselves; a caller does it
// who looks at the published view.
func (t Tenant) Fresh(g ids.Group) error {
	s := t.session
	if s == nil || s.local {
		return nil
	}
	s.mu.Lock()
	fresh := s.fresh[g]
	s.mu.Unlock()
	if fresh {
		return nil
	}
	resume := background.Waiting(s.ctx)
	err := t.store.Groups.Barrier(s.ctx, g)
	resume()
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fresh[g] = true
	return nil
}

// note remembers a write.
func (s *Session) note(g ids.Group, index uint64) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wrote[g] = max(s.wrote[g], index)
}
