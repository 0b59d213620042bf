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
	"github.com/gavel-ads/gavel/raftstore/pebblelog"
	"github.com/gavel-ads/gavel/raftstore/snapshot"
	"github.com/gavel-ads/gavel/raftstore/transport"
)

// counting is a minimal state machine: it stores one value.
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
func (c *counting) EndBatch() bool { return false }
func (c *counting) Committed()     {}
func (c *counting) Digest() uint64 { return uint64(len(c.value)) }

// A follower that diverged gets a snapshot (hashicorp/raft#697): A holds 20 entries of term 2; B, of term 3, installs a
// snapshot at 15 and goes on with entry 16. The monotonic store deletes the whole log, so nothing of term 2 survives,
// and Raft still believes in entry 20: it would refuse entry 16, and accept entry 21 from any leader that has an entry
// 20 of term 2. The process ends before it answers. The next process has the state of the snapshot and goes on behind
// it.
func TestSnapshotOntoADivergedLogEndsTheProcess(t *testing.T) {
	t.Parallel()
	fs := vfs.NewCrashableMem()
	b := diverged(t, fs, 20)
	exited := make(chan int)
	s := openA(t, fs, func(code int) {
		exited <- code
		select {} // Nothing goes on in a process that is gone.
	})
	installed := make(chan error, 1)
	go func() { installed <- b.install(s, 30) }()
	select {
	case code := <-exited:
		if code != fatal.ExitCode {
			t.Errorf("exit code %d", code)
		}
	case err := <-installed:
		t.Fatalf("the process goes on, and entry 21 of a leader with another log is taken: %t (%v)", b.entry(t, s, 30, 20, 2), err)
	}
	s = openA(t, fs.CrashClone(vfs.CrashCloneCfg{}), nil)
	wantValue(t, s.Group(1), "of B")
	if last, _ := s.Group(1).log.LastIndex(); last != 0 {
		t.Errorf("the log still ends at %d", last)
	}
	if b.entry(t, s, 30, 20, 2) || !b.entry(t, s, 30, 15, 1) {
		t.Error("entry 21 is taken or entry 16 is not")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// A follower that has no entries behind the snapshot goes on. Raft then takes one of its own at once, of the same
// entry, because it computes how far the log has gone from a log that is empty: that one is not refused as stale.
func TestSnapshotOntoAShortLog(t *testing.T) {
	t.Parallel()
	fs := vfs.NewMem()
	b := diverged(t, fs, 10)
	s, err := Open(Config{
		Dir: "node", FS: fs, NodeID: "A", Groups: []uint16{1}, Expect: 1, PeerListen: "127.0.0.1:0", Insecure: true, SnapshotInterval: 20 * time.Millisecond,
		Machine: func(uint16) StateMachine { return &counting{} }, Exit: func(code int) { panic(code) },
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.install(s, 30); err != nil {
		t.Fatal(err)
	}
	for s.Group(1).machine.snapshots.Load() < 4 {
		time.Sleep(time.Millisecond)
	}
	if !b.entry(t, s, 30, 15, 1) {
		t.Error("entry 16 is refused")
	}
	wantValue(t, s.Group(1), "of B")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// A leader that sends one snapshot after the other is not endured for ever: whatever keeps the follower from following,
// the third snapshot ends its process, and the next process begins anew.
func TestThirdInstallEndsTheProcess(t *testing.T) {
	t.Parallel()
	fs := vfs.NewMem()
	b := diverged(t, fs, 10)
	exited := make(chan int)
	s := openA(t, fs, func(code int) {
		exited <- code
		select {} // Nothing goes on in a process that is gone.
	})
	for range installsMax {
		if err := b.install(s, 30); err != nil {
			t.Fatal(err)
		}
		b.end += 10
	}
	third := make(chan error, 1)
	go func() { third <- b.install(s, 30) }()
	select {
	case code := <-exited:
		if code != fatal.ExitCode {
			t.Errorf("exit code %d", code)
		}
	case err := <-third:
		t.Fatalf("the third snapshot within %s is taken like the others (%v)", installWindow, err)
	}
}

// openA starts node A.
func openA(t *testing.T, fs vfs.FS, exit func(int)) *Store {
	t.Helper()
	s, err := Open(Config{
		Dir: "node", FS: fs, NodeID: "A", Groups: []uint16{1}, Expect: 1, PeerListen: "127.0.0.1:0", Insecure: true,
		Machine: func(uint16) StateMachine { return &counting{} }, Exit: exit,
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// diverged makes the disk of a node A whose log, up to some entry, is not that of its leader B, and returns B.
func diverged(t *testing.T, fs vfs.FS, last uint64) *scriptedLeader {
	t.Helper()
	b := &scriptedLeader{scripted: peer(t), end: 15}
	s := openA(t, fs, nil)
	if err := s.Group(1).WaitReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.cluster = s.Cluster().ID
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	diverge(t, fs, b.cluster, b.scripted, last)
	b.trans = b.transport(t)
	b.header = raft.RPCHeader{ProtocolVersion: 3, ID: []byte("B"), Addr: []byte(b.address)}
	return b
}

// scriptedLeader sends the calls of B as a leader.
type scriptedLeader struct {
	*scripted
	end    uint64 // The last entry of its snapshot.
	trans  transport.Safe
	header raft.RPCHeader
}

// install sends B's snapshot, of term 1, in a term.
func (b *scriptedLeader) install(s *Store, term uint64) error {
	var stream bytes.Buffer
	w, err := snapshot.NewWriter(&stream, snapshot.Header{Cluster: b.cluster, Group: 1, Index: b.end, Term: 1, Digest: uint64(len("of B"))})
	if err := errors.Join(err, w.Add([]byte("v"), []byte("of B")), w.End()); err != nil {
		return err
	}
	var answer raft.InstallSnapshotResponse
	err = b.trans.InstallSnapshot(s.identity.Server, raft.ServerAddress(s.Group(1).streams.Addr().String()), &raft.InstallSnapshotRequest{
		RPCHeader: b.header, SnapshotVersion: 1, Term: term, Leader: []byte(b.address), LastLogIndex: b.end, LastLogTerm: 1,
		Configuration: raft.EncodeConfiguration(b.servers()), ConfigurationIndex: 1, Size: int64(stream.Len()),
	}, &answer, &stream)
	if err == nil && !answer.Success {
		err = errors.New("the snapshot was refused")
	}
	return err
}

// entry sends one entry of a term after another one, with a commit index that covers all, and reports whether A stored
// it.
func (b *scriptedLeader) entry(t *testing.T, s *Store, term, prev, prevTerm uint64) bool {
	t.Helper()
	var answer raft.AppendEntriesResponse
	err := b.trans.AppendEntries(s.identity.Server, raft.ServerAddress(s.Group(1).streams.Addr().String()), &raft.AppendEntriesRequest{
		RPCHeader: b.header, Term: term, Leader: []byte(b.address), PrevLogEntry: prev, PrevLogTerm: prevTerm, LeaderCommitIndex: prev + 1,
		Entries: []*raft.Log{{Index: prev + 1, Term: term, Type: raft.LogNoop}},
	}, &answer)
	if err != nil {
		t.Fatal(err)
	}
	return answer.Success
}

// A snapshot of an entry that was applied long ago, because its call was given up and arrives all the same, or because
// its answer was lost, changes nothing, and its leader learns that the follower has what is in it. Raft would install
// it, and panic at the next entry. One in a new term goes to Raft, which has to learn the term, and is refused the
// first time.
func TestLateSnapshotChangesNothing(t *testing.T) {
	t.Parallel()
	fs := vfs.NewMem()
	b := diverged(t, fs, 20)
	s := openA(t, fs, nil)
	if !b.entry(t, s, 29, 20, 2) {
		t.Fatal("B's log is not A's")
	}
	for s.Group(1).raft.AppliedIndex() < 21 {
		time.Sleep(time.Millisecond)
	}
	if err := b.install(s, 29); err != nil {
		t.Errorf("a late snapshot is answered %v", err)
	}
	if err := b.install(s, 30); err == nil || !strings.Contains(err.Error(), errStaleSnapshot.Error()) {
		t.Errorf("a late snapshot in a new term is answered %v", err)
	}
	for range 2 * installsMax { // However often it comes.
		if err := b.install(s, 30); err != nil {
			t.Errorf("a late snapshot is answered %v the second time", err)
		}
	}
	if !b.entry(t, s, 30, 21, 29) {
		t.Error("the next entry is refused")
	}
	for s.Group(1).raft.AppliedIndex() < 22 {
		time.Sleep(time.Millisecond)
	}
	if last, _ := s.Group(1).log.LastIndex(); last != 22 || s.Group(1).Status().Restores > 0 {
		t.Errorf("the log ends at %d, %d snapshots were installed", last, s.Group(1).Status().Restores)
	}
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

// diverge writes a configuration of two voters, and entries up to some end that B does not have, to the log of the
// closed node A.
func diverge(t *testing.T, fs vfs.FS, cluster uint64, b *scripted, end uint64) {
	t.Helper()
	rewrite(t, fs, cluster, func(l *pebblelog.Log) error {
		last, _ := l.LastIndex()
		var logs []*raft.Log
		for i := last + 1; i <= end; i++ {
			logs = append(logs, &raft.Log{Index: i, Term: 2, Type: raft.LogNoop})
		}
		logs[0].Type, logs[0].Data = raft.LogConfiguration, raft.EncodeConfiguration(b.servers())
		return l.StoreLogs(logs)
	})
}

// rewrite changes the log of the closed node A.
func rewrite(t *testing.T, fs vfs.FS, cluster uint64, change func(*pebblelog.Log) error) {
	t.Helper()
	s := &Store{c: Config{Dir: "node", FS: fs, NodeID: "A", Groups: []uint16{1}}.withDefaults(), groups: map[uint16]*Group{}, cluster: cluster}
	s.exit = fatal.NewExit(s.c.Logger, func(int) { panic("exit") })
	s.watchdog = fatal.NewWatchdog(s.exit, time.Minute)
	s.cache = pebble.NewCache(1 << 20)
	if err := s.openLog(); err != nil {
		t.Fatal(err)
	}
	l := s.log.Group(1)
	if err := errors.Join(l.Check(0), change(l), s.log.Close()); err != nil {
		t.Fatal(err)
	}
	s.watchdog.Close()
	s.cache.Unref()
}

// scripted is peer B: it answers nothing by itself, the test sends its answers.
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
	safe := transport.New(m.Streams(1, transport.Address(p.address)), transport.RPCsInFlight, hclog.NewNullLogger())
	t.Cleanup(func() {
		safe.Close()
		m.Close()
	})
	return safe
}

// A single node may listen on loopback, and refuses connections of another cluster there.
func TestPeerPortRefusesOtherClusters(t *testing.T) {
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
	c.Write([]byte(strings.Repeat("nonsense", 4)))
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

// A follower that is sent snapshot after snapshot ends its process, which repairs it. Two within five minutes, or three
// over a longer time, are normal.
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
