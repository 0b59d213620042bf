package transport

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"
)

// tap passes calls on to raft and remembers what a follower must know about its leader.
//
// INVARIANT: calls keep their order. The tap holds at most one.
type tap struct {
	out     chan raft.RPC
	stop    chan struct{}
	once    sync.Once
	done    sync.WaitGroup
	contact atomic.Int64 // Unix nanoseconds of the last call of a leader.
	commit  atomic.Uint64
	brakes  atomic.Pointer[Brakes]
}

func newTap(in <-chan raft.RPC) *tap {
	t := &tap{out: make(chan raft.RPC), stop: make(chan struct{})}
	t.done.Go(func() { t.run(in) })
	return t
}

func (t *tap) run(in <-chan raft.RPC) {
	for {
		select {
		case rpc := <-in:
			if c, ok := rpc.Command.(*raft.AppendEntriesRequest); ok {
				t.contact.Store(time.Now().UnixNano())
				t.commit.Store(c.LeaderCommitIndex)
			}
			if t.brakes.Load().refuses(rpc) {
				go refuse(rpc) // Ends with its connection.
				continue
			}
			if !t.send(rpc) {
				return
			}
		case <-t.stop:
			return
		}
	}
}

func (t *tap) send(rpc raft.RPC) bool {
	select {
	case t.out <- rpc:
		return true
	case <-t.stop:
		return false
	}
}

func (t *tap) close() {
	t.once.Do(func() { close(t.stop) })
	t.done.Wait()
}

// Consumer returns the calls of peers, heartbeats among them.
func (s Safe) Consumer() <-chan raft.RPC { return s.tap.out }

// Close ends the transport.
func (s Safe) Close() error {
	err := s.NetworkTransport.Close()
	s.tap.close()
	return err
}

// LeaderContact is when a leader last called, by this node's clock, and the commit index it told. Zero: never.
func (s Safe) LeaderContact() (at time.Time, commit uint64) {
	if nanos := s.tap.contact.Load(); nanos != 0 {
		at = time.Unix(0, nanos)
	}
	return at, s.tap.commit.Load()
}

// Campaign makes raft stand for election at once instead of after its heartbeat timeout. It is for the only voter of a
// group: there is nobody to wait for, and the long timers of a cluster may stay as they are.
func (s Safe) Campaign() {
	reply := make(chan raft.RPCResponse, 1)
	s.tap.send(raft.RPC{
		Command:  &raft.TimeoutNowRequest{RPCHeader: raft.RPCHeader{ProtocolVersion: raft.ProtocolVersionMax}},
		RespChan: reply,
	})
}
