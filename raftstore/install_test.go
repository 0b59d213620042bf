package raftstore

import (
	"bytes"
	"errors"
	"log/slog"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"github.com/gavel-ads/gavel/raftstore/fatal"
	"github.com/gavel-ads/gavel/raftstore/snapshot"
	"github.com/gavel-ads/gavel/raftstore/transport"
)

// counting is the smallest state machine: it remembers one value.
type counting struct{ value string }

func (c *counting) Load(r Reader) error {
	v, _ := r.Get([]byte("v"))
	c.value = string(v)
	return nil
}

func (c *counting) Apply(b Batch, cmd []byte) []byte {
	c.value = string(cmd)
	b.Set([]byte("v"), cmd)
	return nil
}

func (c *counting) Flush(Batch)    {}
func (c *counting) Committed()     {}
func (c *counting) Digest() uint64 { return uint64(len(c.value)) }

// A follower that diverged gets a snapshot (hashicorp/raft#697): A holds 20 entries of term 2, B of term 3 installs a
// snapshot at 15 and goes on with entry 16. The monotonic store drops the whole log, so nothing of term 2 survives and
// the state is the snapshot's; the library refuses entry 16 until the process restarts, and takes it then. When the first
// half changes, #697 is repaired.
func TestSnapshotOntoADivergedLog(t *testing.T) {
	fs := vfs.NewMem()
	b := peer(t)
	open := func() (*Store, *Group) {
		s, err := Open(Config{
			Dir: "node", FS: fs, NodeID: "A", Groups: []uint16{1}, Expect: 1, PeerListen: "127.0.0.1:0", Insecure: true,
			Machine: func(uint16) StateMachine { return &counting{} },
		})
		if err != nil {
			t.Fatal(err)
		}
		return s, s.Group(1)
	}
	s, g := open()
	if err := g.WaitReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.cluster = s.Cluster().ID
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	diverge(t, fs, s.Cluster().ID, b)

	s, g = open()
	var stream bytes.Buffer
	w, err := snapshot.NewWriter(&stream, snapshot.Header{Cluster: s.Cluster().ID, Group: 1, Index: 15, Term: 1, Digest: uint64(len("of B"))})
	if err := errors.Join(err, w.Add([]byte("v"), []byte("of B")), w.End()); err != nil {
		t.Fatal(err)
	}
	trans := b.transport(t)
	header := raft.RPCHeader{ProtocolVersion: 3, ID: []byte("B"), Addr: []byte(b.address)}
	install := &raft.InstallSnapshotRequest{
		RPCHeader: header, SnapshotVersion: 1, Term: 30, Leader: []byte(b.address), LastLogIndex: 15, LastLogTerm: 1,
		Configuration: raft.EncodeConfiguration(b.servers()), ConfigurationIndex: 1, Size: int64(stream.Len()),
	}
	var installed raft.InstallSnapshotResponse
	address := raft.ServerAddress(g.streams.Addr().String())
	if err := trans.InstallSnapshot(s.identity.Server, address, install, &installed, &stream); err != nil || !installed.Success {
		t.Fatal(installed, err)
	}
	if last, _ := g.log.LastIndex(); last != 0 {
		t.Errorf("the log still ends at %d", last)
	}
	wantValue(t, g, "of B")
	sixteenth := func(s *Store, address raft.ServerAddress) bool {
		var r raft.AppendEntriesResponse
		err := trans.AppendEntries(s.identity.Server, address, &raft.AppendEntriesRequest{
			RPCHeader: header, Term: 30, Leader: []byte(b.address), PrevLogEntry: 15, PrevLogTerm: 1, LeaderCommitIndex: 16,
			Entries: []*raft.Log{{Index: 16, Term: 30, Type: raft.LogNoop}},
		}, &r)
		if err != nil {
			t.Fatal(err)
		}
		return r.Success
	}
	if sixteenth(s, address) {
		t.Error("entry 16 is taken before a restart: hashicorp/raft#697 seems repaired")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s, g = open()
	if !sixteenth(s, raft.ServerAddress(g.streams.Addr().String())) {
		t.Error("entry 16 is refused after a restart")
	}
	wantValue(t, g, "of B")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func wantValue(t *testing.T, g *Group, want string) {
	t.Helper()
	err := g.Read(func(r Reader) error {
		if v, _ := r.Get([]byte("v")); string(v) != want {
			t.Errorf("the state is %q, want %q", v, want)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// diverge gives the closed node A a configuration of two voters and entries up to 20 that B does not know.
func diverge(t *testing.T, fs vfs.FS, cluster uint64, b *scripted) {
	t.Helper()
	s := &Store{c: Config{Dir: "node", FS: fs, NodeID: "A", Groups: []uint16{1}}.withDefaults(), groups: map[uint16]*Group{}, cluster: cluster}
	s.exit = fatal.NewExit(s.c.Logger, func(int) { panic("exit") })
	s.watchdog = fatal.NewWatchdog(s.exit, time.Minute)
	s.cache = pebble.NewCache(1 << 20)
	if err := s.openLog(); err != nil {
		t.Fatal(err)
	}
	db, l := s.log, s.log.Group(1)
	if err := l.Check(0); err != nil {
		t.Fatal(err)
	}
	last, _ := l.LastIndex()
	var logs []*raft.Log
	for i := last + 1; i <= 20; i++ {
		logs = append(logs, &raft.Log{Index: i, Term: 2, Type: raft.LogNoop})
	}
	logs[0].Type, logs[0].Data = raft.LogConfiguration, raft.EncodeConfiguration(b.servers())
	if err := errors.Join(l.StoreLogs(logs), db.Close()); err != nil {
		t.Fatal(err)
	}
	s.watchdog.Close()
	s.cache.Unref()
}

// scripted is peer B: it answers nothing, the test speaks for it.
type scripted struct {
	listener net.Listener
	address  string
	cluster  uint64
}

func peer(t *testing.T) *scripted {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return &scripted{listener: l, address: l.Addr().String()}
}

func (p *scripted) servers() raft.Configuration {
	return raft.Configuration{Servers: []raft.Server{{ID: "A", Address: "a"}, {ID: "B", Address: raft.ServerAddress(p.address)}}}
}

func (p *scripted) transport(t *testing.T) transport.Safe {
	t.Helper()
	c := Config{}.withDefaults()
	m := transport.NewMux(transport.Config{Listener: p.listener, Dial: c.Dial, Cluster: p.cluster, Logger: slog.New(slog.DiscardHandler)})
	safe := transport.New(m.Streams(1, transport.Address(p.address)), hclog.NewNullLogger())
	t.Cleanup(func() {
		safe.Close()
		m.Close()
	})
	return safe
}

// A single node may listen on loopback, and refuses strangers there.
func TestPeerPortRefusesStrangers(t *testing.T) {
	s, err := Open(Config{
		Dir: "node", FS: vfs.NewMem(), NodeID: "A", Groups: []uint16{1}, Expect: 1, PeerListen: "127.0.0.1:0", Insecure: true,
		Machine: func(uint16) StateMachine { return &counting{} },
	})
	if err != nil {
		t.Fatal(err)
	}
	c, err := net.Dial("tcp", s.Group(1).streams.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	c.Write([]byte(strings.Repeat("stranger", 4)))
	c.SetReadDeadline(time.Now().Add(time.Minute))
	if _, err := c.Read(make([]byte, 1)); err == nil {
		t.Error("got an answer")
	}
	for s.Stats().PeerRejectHeader != 1 || s.Stats().PeerConns != 0 {
		time.Sleep(time.Millisecond)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// A follower that is sent snapshot after snapshot ends its process, which heals it; two within five minutes, or three
// over a longer time, are daily life.
func TestRepeatedInstallsEndTheProcess(t *testing.T) {
	for _, tc := range []struct {
		minutes []int
		exits   bool
	}{{[]int{0, 1}, false}, {[]int{0, 3, 6, 9}, false}, {[]int{0, 1, 2}, true}, {[]int{0, 10, 11, 12}, true}} {
		exited := make(chan int, 1)
		s := &Store{exit: fatal.NewExit(slog.New(slog.DiscardHandler), func(code int) {
			exited <- code
			runtime.Goexit()
		})}
		m := &machine{store: s}
		done := make(chan struct{})
		go func() {
			defer close(done)
			for _, minute := range tc.minutes {
				m.noteInstall(time.Unix(0, 0).Add(time.Duration(minute) * time.Minute))
			}
		}()
		<-done
		if got := len(exited) == 1; got != tc.exits {
			t.Errorf("installs at minutes %v: exit %v", tc.minutes, got)
		}
	}
}
