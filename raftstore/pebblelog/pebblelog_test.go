package pebblelog

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/hashicorp/raft"

	"github.com/gavel-ads/gavel/raftstore/fatal"
)

const testCluster = 0xC1

// openTest opens a log that checks groups 1 and 2 at once; the test closes it.
func openTest(t testing.TB, fs vfs.FS, change ...func(*Options)) (*DB, error) {
	t.Helper()
	for _, dir := range []string{"raftlog"} {
		if err := fs.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	root, err := fs.OpenDir("/")
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(root.Sync(), root.Close()); err != nil {
		t.Fatal(err)
	}
	exit := fatal.NewExit(slog.New(slog.DiscardHandler), func(int) { panic("the log ended the process") })
	watchdog := fatal.NewWatchdog(exit, time.Minute)
	t.Cleanup(watchdog.Close)
	cache := pebble.NewCache(1 << 20)
	t.Cleanup(cache.Unref)
	o := Options{
		FS: fs, Dir: "raftlog", GuardPath: "/guard", ClusterID: testCluster, Groups: []uint16{1, 2}, Cache: cache, TailBytes: 1 << 20,
		Logger: fatal.NewLogger(exit, slog.New(slog.DiscardHandler), "raftlog"), Exit: exit, Watchdog: watchdog, CallLimit: time.Minute,
	}
	for _, c := range change {
		c(&o)
	}
	d, err := Open(o)
	if err != nil {
		return nil, err
	}
	for _, g := range o.Groups {
		if err := d.Group(g).Check(0); err != nil {
			return nil, errors.Join(err, d.Close())
		}
	}
	return d, nil
}

func mustOpen(t testing.TB, fs vfs.FS) *DB {
	t.Helper()
	d, err := openTest(t, fs)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func entries(from, to, term uint64) (logs []*raft.Log) {
	for i := from; i <= to; i++ {
		logs = append(logs, &raft.Log{
			Index: i, Term: term, Type: raft.LogCommand, Data: fmt.Appendf(nil, "data-%d-%d", i, term),
			Extensions: bytes.Repeat([]byte{'x'}, int(i%3)), AppendedAt: time.Unix(1_700_000_000, int64(i)),
		})
	}
	return logs
}

func wantRange(t *testing.T, l *Log, first, last uint64) {
	t.Helper()
	gotFirst, _ := l.FirstIndex()
	gotLast, _ := l.LastIndex()
	if gotFirst != first || gotLast != last {
		t.Fatalf("entries %d..%d, want %d..%d", gotFirst, gotLast, first, last)
	}
}

func wantEntry(t *testing.T, l *Log, want *raft.Log) {
	t.Helper()
	var got raft.Log
	if err := l.GetLog(want.Index, &got); err != nil {
		t.Fatalf("entry %d: %v", want.Index, err)
	}
	if got.Index != want.Index || got.Term != want.Term || got.Type != want.Type || !bytes.Equal(got.Data, want.Data) ||
		!bytes.Equal(got.Extensions, want.Extensions) || !got.AppendedAt.Equal(want.AppendedAt) {
		t.Fatalf("entry %d: got %+v, want %+v", want.Index, got, want)
	}
}

// What Raft expects of a log store, read through the tail cache and again after a restart.
func TestLogStore(t *testing.T) {
	steps := []struct {
		name        string
		do          func(l *Log) error
		first, last uint64
	}{
		{"empty", func(*Log) error { return nil }, 0, 0},
		{"append to empty at 1", func(l *Log) error { return l.StoreLogs(entries(1, 10, 1)) }, 1, 10},
		{"append one", func(l *Log) error { return l.StoreLog(entries(11, 11, 2)[0]) }, 1, 11},
		{"nothing to append", func(l *Log) error { return l.StoreLogs(nil) }, 1, 11},
		{"delete a suffix", func(l *Log) error { return l.DeleteRange(9, 11) }, 1, 8},
		{"append again with another term", func(l *Log) error { return l.StoreLogs(entries(9, 12, 3)) }, 1, 12},
		{"delete a prefix", func(l *Log) error { return l.DeleteRange(1, 4) }, 5, 12},
		{"delete what is gone", func(l *Log) error { return l.DeleteRange(1, 4) }, 5, 12},
		{"delete everything, and more", func(l *Log) error { return l.DeleteRange(1, 100) }, 0, 0},
		{"append to empty after a snapshot", func(l *Log) error { return l.StoreLogs(entries(1000, 1003, 4)) }, 1000, 1003},
	}
	for _, reopen := range []bool{false, true} {
		t.Run(fmt.Sprintf("reopen=%v", reopen), func(t *testing.T) {
			fs := vfs.NewMem()
			d := mustOpen(t, fs)
			if err := d.Group(2).StoreLogs(entries(1, 3, 7)); err != nil {
				t.Fatal(err)
			}
			for _, step := range steps {
				if err := step.do(d.Group(1)); err != nil {
					t.Fatalf("%s: %v", step.name, err)
				}
				if reopen {
					if err := d.Close(); err != nil {
						t.Fatal(err)
					}
					d = mustOpen(t, fs)
				}
				t.Log(step.name)
				wantRange(t, d.Group(1), step.first, step.last)
				wantRange(t, d.Group(2), 1, 3)
				if step.last > 0 {
					for _, outside := range []uint64{step.first - 1, step.last + 1} {
						if err := d.Group(1).GetLog(outside, new(raft.Log)); !errors.Is(err, raft.ErrLogNotFound) {
							t.Errorf("%s: entry %d: %v", step.name, outside, err)
						}
					}
				}
			}
			wantEntry(t, d.Group(1), entries(1002, 1002, 4)[0])
			wantEntry(t, d.Group(2), entries(2, 2, 7)[0])
			if err := d.Close(); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// The monotonic contract (hashicorp/raft#697): no gap can ever be stored.
func TestGapsPanic(t *testing.T) {
	d := mustOpen(t, vfs.NewMem())
	defer d.Close()
	l := d.Group(1)
	if !raft.MonotonicLogStore(l).IsMonotonic() {
		t.Fatal("not monotonic")
	}
	if err := l.StoreLogs(entries(1, 10, 1)); err != nil {
		t.Fatal(err)
	}
	for name, f := range map[string]func(){
		"ahead":        func() { l.StoreLogs(entries(12, 13, 1)) },
		"behind":       func() { l.StoreLogs(entries(10, 11, 1)) },
		"inside":       func() { l.StoreLogs([]*raft.Log{entries(11, 11, 1)[0], entries(13, 13, 1)[0]}) },
		"cut a middle": func() { l.DeleteRange(3, 5) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			f()
		}()
	}
	wantRange(t, l, 1, 10)
}

func TestStableStore(t *testing.T) {
	fs := vfs.NewMem()
	d := mustOpen(t, fs)
	l := d.Group(1)
	if _, err := l.Get([]byte("nothing")); err == nil || err.Error() != "not found" {
		t.Errorf("raft compares the text: %v", err)
	}
	if n, err := l.GetUint64([]byte("nothing")); n != 0 || err != nil {
		t.Errorf("missing number: %d, %v", n, err)
	}
	for _, err := range []error{
		l.SetUint64([]byte(keyTerm), 5), l.SetUint64([]byte(keyVoteTerm), 5), l.Set([]byte(keyVote), []byte("n1")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	d.Close()
	d = mustOpen(t, fs)
	defer d.Close()
	if n, err := d.Group(1).GetUint64([]byte(keyTerm)); n != 5 || err != nil {
		t.Errorf("term %d, %v", n, err)
	}
	if v, err := d.Group(1).Get([]byte(keyVote)); string(v) != "n1" || err != nil {
		t.Errorf("vote %q, %v", v, err)
	}
	if n, _ := d.Group(2).GetUint64([]byte(keyTerm)); n != 0 {
		t.Error("groups share their votes")
	}
}

// A power failure between the two writes of a vote leaves no vote, and not the previous candidate: Raft would count
// that as a vote of the new term. The guard reports no damage, neither then nor at the next failure.
func TestHalfAVoteIsNone(t *testing.T) {
	for _, acceptLoss := range []bool{false, true} {
		fs := vfs.NewCrashableMem()
		d := mustOpen(t, fs)
		l := d.Group(1)
		err := errors.Join(l.SetUint64([]byte(keyTerm), 5), l.SetUint64([]byte(keyVoteTerm), 5), l.Set([]byte(keyVote), []byte("n1")),
			l.SetUint64([]byte(keyTerm), 6), l.SetUint64([]byte(keyVoteTerm), 6))
		if err != nil {
			t.Fatal(err)
		}
		fs = fs.CrashClone(vfs.CrashCloneCfg{})
		again, err := openTest(t, fs, func(o *Options) { o.AcceptLoss = acceptLoss })
		if err != nil {
			t.Fatal(err)
		}
		l = again.Group(1)
		if vote, err := l.Get([]byte(keyVote)); vote != nil || !errors.Is(err, errNotFound) {
			t.Errorf("vote %q (%v) in a term without one", vote, err)
		}
		guarded := l.guard.record(groupRecord(1))
		if err := l.Set([]byte(keyVote), []byte("n2")); err != nil {
			t.Fatal(err)
		}
		l.guard.wait(l.guard.post(groupRecord(1), guarded)) // As if the power had failed before the guard got the vote.
		if err := errors.Join(again.Close(), d.Close()); err != nil {
			t.Fatal(err)
		}
		after, err := openTest(t, fs)
		if err != nil {
			t.Fatalf("loss accepted before %v: %v", acceptLoss, err)
		}
		if err := after.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// The tail is bounded by bytes and by entries, and returns only durable entries.
func TestTailIsBounded(t *testing.T) {
	tl := tail{bytesMax: 10_000}
	for i := uint64(1); i <= 3*tailEntriesMax; i++ {
		tl.add([]*raft.Log{{Index: i, Data: make([]byte, i%100)}})
		if tl.bytes > tl.bytesMax || tl.high-tl.low > tailEntriesMax {
			t.Fatalf("%d bytes, %d entries", tl.bytes, tl.high-tl.low)
		}
	}
	var l raft.Log
	if !tl.get(3*tailEntriesMax, &l) || l.Index != 3*tailEntriesMax {
		t.Error("the newest entry is not cached")
	}
	if tl.get(1, &l) || tl.get(3*tailEntriesMax+1, &l) {
		t.Error("an entry outside is found")
	}
	tl.deleteRange(1, 3*tailEntriesMax)
	if tl.bytes != 0 || tl.low != tl.high {
		t.Errorf("%d bytes left in an empty tail", tl.bytes)
	}
	if tl.add([]*raft.Log{{Index: 1, Data: make([]byte, 20_000)}}); tl.bytes != 0 {
		t.Error("an entry larger than the bound is cached")
	}
}

// The encodings never change: a node must read what an older one wrote.
func TestGoldenEncodings(t *testing.T) {
	entry := &raft.Log{
		Index: 7, Term: 3, Type: raft.LogConfiguration, Data: []byte("data"), Extensions: []byte("ext"),
		AppendedAt: time.Unix(1_700_000_000, 123_456_789),
	}
	const wantEntryHex = "01" + "0000000000000003" + "05" + "17979cfe3d85cd15" + "03" + "657874" + "64617461"
	got := appendEntry(nil, entry)
	if hex.EncodeToString(got) != wantEntryHex {
		t.Errorf("entry: %x", got)
	}
	var back raft.Log
	if err := decodeEntry(&back, 7, got); err != nil {
		t.Fatal(err)
	}
	if !back.AppendedAt.Equal(entry.AppendedAt) || string(back.Extensions) != "ext" || string(back.Data) != "data" ||
		back.Index != 7 || back.Term != 3 || back.Type != raft.LogConfiguration {
		t.Errorf("decoded: %+v", back)
	}
	empty := appendEntry(nil, &raft.Log{Term: 1, Type: raft.LogNoop})
	if hex.EncodeToString(empty) != "01"+"0000000000000001"+"01"+"0000000000000000"+"00" {
		t.Errorf("empty entry: %x", empty)
	}
	if err := decodeEntry(&back, 8, empty); err != nil || !back.AppendedAt.IsZero() || back.Data != nil {
		t.Errorf("decoded empty: %+v, %v", back, err)
	}
	for cut := range len(empty) {
		if decodeEntry(&back, 8, empty[:cut]) == nil {
			t.Errorf("%d bytes decode", cut)
		}
	}
	if key := entryKey(nil, 0x0102, 3); hex.EncodeToString(key) != "01"+"0102"+"0000000000000003" {
		t.Errorf("key: %x", key)
	}

	slot := guardSlot{seq: 9, record: guardRecord{term: 4, voteTerm: 3, vote: []byte("n1"), lastIndex: 100, commit: 90}}
	raw := appendSlot(nil, 0xABCD, 2, &slot)
	const wantSlot = "47564744" + "01" + "02" + "0002" + "000000000000abcd" + "0000000000000009" + "0000000000000004" +
		"0000000000000003" + "0000000000000064" + "000000000000005a" + "6e31"
	if len(raw) != sectorBytes || !strings.HasPrefix(hex.EncodeToString(raw), wantSlot) || hex.EncodeToString(raw[508:]) != "203dfa0e" {
		t.Errorf("guard slot: %x ... %x", raw[:64], raw[508:])
	}
	if s, cluster, ok := decodeSlot(raw, 2); !ok || cluster != 0xABCD || s.seq != 9 || string(s.record.vote) != "n1" || s.record.commit != 90 {
		t.Errorf("decoded slot: %+v %x %v", s, cluster, ok)
	}
	if _, _, ok := decodeSlot(raw, 3); ok {
		t.Error("a slot of another record is taken")
	}
}

func TestEpochNeverRepeats(t *testing.T) {
	fs := vfs.NewMem()
	for want := uint32(1); want <= 3; want++ {
		d := mustOpen(t, fs)
		if got, err := d.NextEpoch(); got != want || err != nil {
			t.Errorf("epoch %d, %v, want %d", got, err, want)
		}
		d.Close()
	}
}

// The guard must not be ahead of the log: a crash when the guard's sync is done and the log's is not must not look like
// damage.
func TestGuardIsNeverAheadOfTheLog(t *testing.T) {
	mem := vfs.NewCrashableMem()
	gate := &walGate{FS: mem}
	d := mustOpen(t, gate)
	l := d.Group(1)
	if err := l.StoreLogs(entries(1, 5, 1)); err != nil {
		t.Fatal(err)
	}
	syncs := d.GuardSyncs()
	release := make(chan struct{})
	gate.hold.Store(&release)
	stored := make(chan struct{})
	go func() {
		defer close(stored)
		l.StoreLogs(entries(6, 9, 1))
	}()
	for d.GuardSyncs() == syncs {
		time.Sleep(time.Millisecond)
	}
	crashed := mem.CrashClone(vfs.CrashCloneCfg{})
	gate.hold.Store(nil)
	close(release)
	<-stored
	d.Close()
	after := mustOpen(t, crashed) // It fails when the guard is ahead.
	defer after.Close()
	wantRange(t, after.Group(1), 1, 5)
}

// walGate blocks syncs of Pebble's log while hold is set.
type walGate struct {
	vfs.FS
	hold atomic.Pointer[chan struct{}]
}

func (w *walGate) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := w.FS.Create(name, c)
	if err != nil || !strings.HasSuffix(name, ".log") {
		return f, err
	}
	return gatedFile{f, w}, nil
}

type gatedFile struct {
	vfs.File
	gate *walGate
}

func (g gatedFile) wait() {
	if hold := g.gate.hold.Load(); hold != nil {
		<-*hold
	}
}

func (g gatedFile) Sync() error     { g.wait(); return g.File.Sync() }
func (g gatedFile) SyncData() error { g.wait(); return g.File.SyncData() }
