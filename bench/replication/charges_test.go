package replication

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
	raftwal "github.com/hashicorp/raft-wal"

	"github.com/gavel-ads/gavel/raftstore"
)

const chargeBytes = 64

// system is a cluster under measurement.
type system struct {
	// commit commits an entry through the leader. It returns when the entry is durable on a majority and applied at the leader.
	commit  func(entry []byte) error
	entries func() uint64 // Returns the number of entries in the leader's log so far.
	close   func()
}

func BenchmarkCharges(b *testing.B) {
	stores := map[string]func(testing.TB, int) system{"raftstore": ours, "pebblelog": onLog(pebbleLog), "raft-wal": onLog(wal), "bbolt": onLog(bolt)}
	for _, nodes := range []int{1, 3} {
		for _, records := range []int{1, 64, 256} {
			for _, inflight := range []int{1, 8, 32} {
				for _, store := range []string{"raftstore", "pebblelog", "raft-wal", "bbolt"} {
					b.Run(fmt.Sprintf("nodes=%d/records=%d/inflight=%d/store=%s", nodes, records, inflight, store), func(b *testing.B) {
						s := stores[store](b, nodes)
						defer s.close()
						measure(b, s, records, inflight)
					})
				}
			}
		}
	}
}

func measure(b *testing.B, s system, records, inflight int) {
	before := s.entries()
	var left atomic.Int64
	left.Store(int64(b.N))
	var callers sync.WaitGroup
	b.ReportAllocs()
	b.ResetTimer()
	for range inflight {
		callers.Go(func() {
			for left.Add(-1) >= 0 {
				if err := s.commit(make([]byte, records*chargeBytes)); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	callers.Wait()
	b.StopTimer()
	seconds := b.Elapsed().Seconds()
	b.ReportMetric(float64(b.N*records)/seconds, "charges/s")
	b.ReportMetric(float64(s.entries()-before)/seconds, "entries/s")
}

// counter is the smallest state machine: it counts bytes.
type counter struct{ n uint64 }

func (c *counter) Load(raftstore.Reader) error { return nil }
func (c *counter) Apply(_ raftstore.Batch, cmd []byte) []byte {
	c.n += uint64(len(cmd))
	return nil
}
func (c *counter) Flush(raftstore.Batch) {}
func (c *counter) EndBatch() bool        { return false }
func (c *counter) Committed()            {}
func (c *counter) Digest() uint64        { return 0 }

func ours(t testing.TB, nodes int) system {
	listeners, seeds := listen(t, nodes)
	all := make([]*raftstore.Store, nodes)
	var opening sync.WaitGroup
	for i := range nodes {
		c := raftstore.Config{
			Dir: t.TempDir(), NodeID: fmt.Sprint("n", i), Groups: []uint16{1}, Expect: nodes, PeerListen: seeds[i], Insecure: true,
			Machine: func(uint16) raftstore.StateMachine { return &counter{} },
			Listen:  func(string) (net.Listener, error) { return listeners[i], nil },
		}
		if nodes > 1 {
			c.Seeds = seeds
		}
		opening.Go(func() {
			var err error
			if all[i], err = raftstore.Open(c); err != nil {
				t.Error(err)
			}
		})
	}
	opening.Wait()
	var leader *raftstore.Group
	for leader == nil {
		for _, s := range all {
			if s.Group(1).Ready() {
				leader = s.Group(1)
			}
		}
		time.Sleep(10 * time.Millisecond)
	}
	return system{
		commit: func(entry []byte) error {
			_, err := leader.Propose(context.Background(), entry)
			return err
		},
		entries: func() uint64 { return leader.Status().LastIndex },
		close: func() {
			var closing sync.WaitGroup
			for _, s := range all {
				closing.Go(func() { s.Close() })
			}
			closing.Wait()
		},
	}
}

func listen(t testing.TB, nodes int) (all []net.Listener, addresses []string) {
	for range nodes {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		all, addresses = append(all, l), append(addresses, l.Addr().String())
	}
	return all, addresses
}

// logStore is a log as raft uses it.
type logStore interface {
	raft.LogStore
	raft.StableStore
	io.Closer
}

func wal(t testing.TB, dir string) logStore {
	w, err := raftwal.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func pebbleLog(t testing.TB, dir string) logStore {
	s, err := openPebble(dir)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func bolt(t testing.TB, dir string) logStore {
	s, err := openBolt(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// fsm is the state machine of plain raft. It counts bytes.
type fsm struct{ n uint64 }

func (f *fsm) Apply(l *raft.Log) any {
	f.n += uint64(len(l.Data))
	return nil
}
func (f *fsm) Snapshot() (raft.FSMSnapshot, error) { return nil, os.ErrInvalid }
func (f *fsm) Restore(r io.ReadCloser) error       { return r.Close() }

// onLog returns a system of plain hashicorp/raft on a log store, with raftstore's settings.
func onLog(open func(testing.TB, string) logStore) func(testing.TB, int) system {
	return func(t testing.TB, nodes int) system {
		var servers raft.Configuration
		var transports []*raft.NetworkTransport
		for i := range nodes {
			trans, err := raft.NewTCPTransport("127.0.0.1:0", nil, 3, 10*time.Second, io.Discard)
			if err != nil {
				t.Fatal(err)
			}
			transports = append(transports, trans)
			servers.Servers = append(servers.Servers, raft.Server{ID: raft.ServerID(fmt.Sprint("n", i)), Address: trans.LocalAddr()})
		}
		var all []*raft.Raft
		var logs []logStore
		for i, trans := range transports {
			c := raft.DefaultConfig()
			c.LocalID, c.Logger = servers.Servers[i].ID, hclog.NewNullLogger()
			c.MaxAppendEntries, c.BatchApplyCh, c.CommitTimeout, c.NoLegacyTelemetry = 128, true, 25*time.Millisecond, true
			c.SnapshotThreshold, c.SnapshotInterval = 1<<60, time.Hour
			l, snaps := open(t, t.TempDir()), raft.NewInmemSnapshotStore()
			if err := raft.BootstrapCluster(c, l, l, snaps, trans, servers); err != nil {
				t.Fatal(err)
			}
			r, err := raft.NewRaft(c, &fsm{}, l, l, snaps, trans)
			if err != nil {
				t.Fatal(err)
			}
			all, logs = append(all, r), append(logs, l)
		}
		var leader *raft.Raft
		for leader == nil {
			for _, r := range all {
				if r.State() == raft.Leader {
					leader = r
				}
			}
			time.Sleep(10 * time.Millisecond)
		}
		return system{
			commit:  func(entry []byte) error { return leader.Apply(entry, 0).Error() },
			entries: leader.LastIndex,
			close: func() {
				for i, r := range all {
					r.Shutdown().Error()
					transports[i].Close()
					logs[i].Close()
				}
			},
		}
	}
}
