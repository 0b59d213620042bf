package transport

import (
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

// acks holds, for every follower, the newest call that it answered in the term of the call: a follower that answers was
// in this term after the call was sent, and had voted in no later one. BOUND: the servers that were members since the
// process started.
type acks struct {
	mu     sync.Mutex
	newest map[raft.ServerID]ack
}

type ack struct {
	term uint64
	sent time.Time
}

// record stores an answer. Answers arrive in any order.
func (a *acks) record(id raft.ServerID, x ack) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if old := a.newest[id]; old.term > x.term || old.term == x.term && old.sent.After(x.sent) {
		return
	}
	if a.newest == nil {
		a.newest = map[raft.ServerID]ack{}
	}
	a.newest[id] = x
}

// Acknowledged returns when the newest call of a term was sent that a follower answered in this term; zero: there is
// none.
func (s Safe) Acknowledged(id raft.ServerID, term uint64) time.Time {
	a := &s.filter.acks
	a.mu.Lock()
	defer a.mu.Unlock()
	if x := a.newest[id]; x.term == term {
		return x.sent
	}
	return time.Time{}
}
