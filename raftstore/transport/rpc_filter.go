package transport

import (
	"errors"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"github.com/gavel-ads/gavel/raftstore/moment"
)

// rpcFilter receives the calls of peers and passes them on to Raft. It records what a follower must know about its
// leader, and refuses calls that must not reach Raft.
//
// Each accepted connection has a Raft transport of its own, because a call does not say on which connection it came,
// and that connection's certificate says which server ids may make it.
//
// INVARIANT: calls of one connection keep their order.
type rpcFilter struct {
	streams   *Streams
	logger    hclog.Logger
	out       chan raft.RPC
	stop      chan struct{}
	once      sync.Once
	done      sync.WaitGroup
	contact   moment.Last   // When a leader last called.
	commit    atomic.Uint64 // The highest commit index that a leader sent.
	admission atomic.Pointer[Admission]
	peers     sync.Map // raft.ServerID to the last answer. BOUND: the servers that were members since the process started.
	breakers  breakers
	acks      acks

	timeoutNowFailed serverCounts
	pipelines        pipelines

	installs   installs
	hasApplied atomic.Pointer[func(term, index uint64) bool]
}

func newRPCFilter(streams *Streams, logger hclog.Logger) *rpcFilter {
	t := &rpcFilter{streams: streams, logger: logger, out: make(chan raft.RPC), stop: make(chan struct{})}
	t.done.Go(t.accept)
	return t
}

// accept serves the connections of the group. It ends when the streams are closed.
func (t *rpcFilter) accept() {
	for {
		c, err := t.streams.Accept()
		if err != nil {
			return
		}
		t.done.Go(func() { t.serve(c) })
	}
}

// serve passes on the calls of one connection until it ends.
func (t *rpcFilter) serve(c net.Conn) {
	in := newInbound(c)
	n := raft.NewNetworkTransportWithConfig(&raft.NetworkTransportConfig{Stream: in, Timeout: ioTimeout, Logger: t.logger})
	defer func() { _ = n.Close() }() // It only ends goroutines, so its error does not matter.
	for {
		select {
		case rpc := <-n.Consumer():
			if err := t.check(rpc, c); err != nil {
				rpc.Respond(nil, err)
				t.streams.mux.rejects.Name.Add(1)
				c.Close()
				return
			}
			if !t.forward(rpc, c) {
				return
			}
		case <-in.ended:
			return
		case <-t.stop:
			return
		}
	}
}

// forward passes a call on to Raft, or answers it here. It returns false when the filter is closed.
func (t *rpcFilter) forward(rpc raft.RPC, c net.Conn) bool {
	if rpc.Reader != nil {
		rpc.Reader = &snapshotReader{src: rpc.Reader, conn: c}
	}
	if call, ok := rpc.Command.(*raft.InstallSnapshotRequest); ok {
		if has := t.hasApplied.Load(); has != nil && (*has)(call.Term, call.LastLogIndex) {
			go answerLate(rpc, call.Term) // Ends with its connection.
			return true
		}
	}
	if t.admission.Load().refuses(rpc) {
		go refuse(rpc) // Ends with its connection.
		return true
	}
	// A refused call is not recorded: this node may take a snapshot of the same entry itself meanwhile.
	if call, ok := rpc.Command.(*raft.InstallSnapshotRequest); ok {
		rpc = t.trackInstall(rpc, install{call.LastLogIndex, call.LastLogTerm})
	}
	return t.send(rpc)
}

var errImpostor = errors.New("the certificate does not fit the server id of the call")

// check returns why a call must not reach Raft, records what the call says about the leader, and corrects its commit index.
func (t *rpcFilter) check(rpc raft.RPC, c net.Conn) error {
	if names, secured := Names(c); secured {
		claimed := ""
		if h, ok := rpc.Command.(raft.WithRPCHeader); ok {
			claimed = NodeOf(raft.ServerID(h.GetRPCHeader().ID))
		}
		if !slices.ContainsFunc(names, func(name string) bool { return name == claimed }) {
			return errImpostor
		}
	}
	if call, ok := rpc.Command.(*raft.RequestVoteRequest); ok {
		return bindVote(call)
	}
	if call, ok := rpc.Command.(*raft.AppendEntriesRequest); ok {
		t.contact.Mark()
		t.noteCommit(call.LeaderCommitIndex)
		boundCommit(call)
	}
	return nil
}

// noteCommit keeps the highest commit index that a leader sent. Heartbeats carry none, and connections overtake each
// other.
func (t *rpcFilter) noteCommit(commit uint64) {
	for known := t.commit.Load(); known < commit; known = t.commit.Load() {
		if t.commit.CompareAndSwap(known, commit) {
			return
		}
	}
}

func (t *rpcFilter) send(rpc raft.RPC) bool {
	select {
	case t.out <- rpc:
		return true
	case <-t.stop:
		return false
	}
}

func (t *rpcFilter) close() {
	t.once.Do(func() { close(t.stop) })
	t.done.Wait()
}

// inbound is one accepted connection as a stream layer: it is accepted once.
type inbound struct {
	conn   net.Conn
	once   sync.Once
	conns  chan net.Conn
	closed chan struct{} // Closed when the layer is.
	ended  chan struct{} // Closed when the connection is.
}

// inboundConn closes ended of its layer when it is closed.
type inboundConn struct {
	net.Conn
	close func() error
}

// Close closes the connection.
func (c inboundConn) Close() error { return c.close() }

func newInbound(c net.Conn) *inbound {
	in := &inbound{conn: c, conns: make(chan net.Conn, 1), closed: make(chan struct{}), ended: make(chan struct{})}
	in.conns <- inboundConn{c, sync.OnceValue(func() error {
		close(in.ended)
		return c.Close()
	})}
	return in
}

// Accept returns the connection, and waits for Close afterwards.
func (in *inbound) Accept() (net.Conn, error) {
	select {
	case c := <-in.conns:
		return c, nil
	case <-in.closed:
		return nil, net.ErrClosed
	}
}

// Close ends Accept. OWNERSHIP: the connection belongs to the mux.
func (in *inbound) Close() error {
	in.once.Do(func() { close(in.closed) })
	return nil
}

// Addr is the local address of the connection.
func (in *inbound) Addr() net.Addr { return in.conn.LocalAddr() }

// Dial always fails: this half of the stream layer only accepts.
func (in *inbound) Dial(raft.ServerAddress, time.Duration) (net.Conn, error) { return nil, errNoPeers }

// Consumer returns the calls of peers, heartbeats among them.
func (s Safe) Consumer() <-chan raft.RPC { return s.filter.out }

// Close ends the transport.
func (s Safe) Close() error {
	err := errors.Join(s.NetworkTransport.Close(), s.quick.Close())
	s.filter.close()
	return err
}

// LeaderContact returns when a leader last called, by this node's monotonic clock, and the highest commit index that
// one sent. Zero: never; the first calls of a leader may be heartbeats, which carry no index.
func (s Safe) LeaderContact() (at time.Time, commit uint64) {
	return s.filter.contact.Time(), s.filter.commit.Load()
}

// Campaign makes Raft campaign at once instead of after its heartbeat timeout. It is for the only voter of a group:
// there is no leader to wait for, and the long timers of a cluster can stay as they are.
func (s Safe) Campaign() {
	reply := make(chan raft.RPCResponse, 1)
	s.filter.send(raft.RPC{
		Command:  &raft.TimeoutNowRequest{RPCHeader: raft.RPCHeader{ProtocolVersion: raft.ProtocolVersionMax}},
		RespChan: reply,
	})
}
