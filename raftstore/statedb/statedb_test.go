package statedb

import (
	"encoding/hex"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/gavel-ads/gavel/raftstore/fatal"
)

func openState(t testing.TB, fs vfs.FS) *DB {
	t.Helper()
	if err := fs.MkdirAll("state", 0o755); err != nil {
		t.Fatal(err)
	}
	exit := fatal.NewExit(slog.New(slog.DiscardHandler), func(int) { panic("the state ended the process") })
	cache := pebble.NewCache(64 << 20)
	t.Cleanup(cache.Unref)
	d, err := Open(Options{
		FS: fs, Dir: "state", Cache: cache, Logger: fatal.NewLogger(exit, slog.New(slog.DiscardHandler), "state"), Exit: exit,
		CallLimit: time.Minute,
	})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func keysOf(r interface {
	Scan(from, to []byte, fn func(key, value []byte) bool)
}, from, to string,
) (all string) {
	r.Scan([]byte(from), []byte(to), func(k, v []byte) bool {
		all += fmt.Sprintf("%s=%s ", k, v)
		return len(all) < 100
	})
	return all
}

// A batch reads the state before it, a snapshot the state at its moment, and a group never reads another one's keys.
func TestReads(t *testing.T) {
	d := openState(t, vfs.NewMem())
	g, neighbour := d.Group(1), d.Group(2)
	b, other := g.NewBatch(), neighbour.NewBatch()
	for _, k := range []string{"a", "b", "c", "d"} {
		b.Set([]byte(k), []byte("1"+k))
		other.Set([]byte(k), []byte("2"+k))
	}
	if _, found := b.Get([]byte("a")); found {
		t.Error("a batch sees itself")
	}
	b.Commit(Applied{Index: 1, Term: 1})
	other.Commit(Applied{Index: 9, Term: 9})
	snap := g.Snapshot()
	b.Delete([]byte("a"))
	b.DeleteRange([]byte("c"), []byte("d"))
	b.Set([]byte("b"), []byte("new"))
	b.Commit(Applied{Index: 2, Term: 1, Digest: 5})

	if got := keysOf(snap, "a", "z"); got != "a=1a b=1b c=1c d=1d " {
		t.Errorf("snapshot: %s", got)
	}
	if got := keysOf(g.Reader(), "a", "z"); got != "b=new d=1d " {
		t.Errorf("now: %s", got)
	}
	if got := keysOf(g.Reader(), "b", "d"); got != "b=new " {
		t.Errorf("upper bound included: %s", got)
	}
	if got := keysOf(b, "", "\xff"); got != "b=new d=1d " {
		t.Errorf("through the batch: %s", got)
	}
	if got := keysOf(neighbour.Reader(), "", "\xff"); got != "a=2a b=2b c=2c d=2d " {
		t.Errorf("neighbour: %s", got)
	}
	if a, _, _ := snap.Applied(); a.Index != 1 {
		t.Errorf("snapshot is at %d", a.Index)
	}
	if v, found := b.Get([]byte("d")); !found || string(v) != "1d" {
		t.Errorf("get: %q", v)
	}
	if err := g.Wipe(); err != nil {
		t.Fatal(err)
	}
	if _, found, err := g.Applied(); found || err != nil {
		t.Errorf("applied after a wipe: %v, %v", found, err)
	}
	if a, found, err := neighbour.Applied(); !found || err != nil || a != (Applied{Index: 9, Term: 9}) {
		t.Errorf("the neighbour after a wipe: %+v %v %v", a, found, err)
	}
	for _, err := range []error{snap.Close(), b.Close(), other.Close(), d.Close()} {
		if err != nil {
			t.Error(err)
		}
	}
}

// After a crash at every call the state is that of one applied batch, whole, with its index.
func TestStateIsAPrefixAfterPowerFailure(t *testing.T) {
	mem := vfs.NewCrashableMem()
	d := openState(t, mem)
	root, _ := mem.OpenDir("/")
	root.Sync()
	b := d.Group(1).NewBatch()
	var crashed []*vfs.MemFS
	for i := uint64(1); i <= 60; i++ {
		for k := range 20 {
			b.Set(fmt.Append(nil, "k", k), fmt.Append(nil, i))
		}
		b.Commit(Applied{Index: i, Term: 1})
		crashed = append(crashed, mem.CrashClone(vfs.CrashCloneCfg{}))
		if i%20 == 0 {
			if err := d.Flush(nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	b.Close()
	d.Close()
	flushed := map[uint64]bool{}
	for _, fs := range append(crashed, mem.CrashClone(vfs.CrashCloneCfg{})) {
		d := openState(t, fs)
		a, _, err := d.Group(1).Applied()
		if err != nil {
			t.Fatal(err)
		}
		flushed[a.Index] = true
		for k := range 20 {
			v, found := d.Group(1).Reader().Get(fmt.Append(nil, "k", k))
			if found != (a.Index > 0) || (found && string(v) != fmt.Sprint(a.Index)) {
				t.Fatalf("at index %d, k%d is %q", a.Index, k, v)
			}
		}
		d.Close()
	}
	for _, index := range []uint64{0, 20, 40, 60} {
		if !flushed[index] {
			t.Errorf("no crash left the state at %d, only %v", index, flushed)
		}
	}
}

func TestGoldenApplied(t *testing.T) {
	b := appendApplied(nil, Applied{Index: 1, Term: 2, Digest: 3})
	if got := hex.EncodeToString(b); got != "01"+"0000000000000001"+"0000000000000002"+"0000000000000003"+"92a081d7" {
		t.Error(got)
	}
	for i := range b {
		bad := append([]byte(nil), b...)
		bad[i] ^= 1
		if _, err := decodeApplied(bad); err == nil {
			t.Errorf("a flipped bit in byte %d is not noticed", i)
		}
	}
}

func BenchmarkGet(b *testing.B) {
	d := openState(b, vfs.NewMem())
	defer d.Close()
	batch := d.Group(1).NewBatch()
	defer batch.Close()
	for i := range 100_000 {
		batch.Set(fmt.Appendf(nil, "key-%08d", i), []byte("value"))
	}
	batch.Commit(Applied{Index: 1})
	if err := d.Flush(nil); err != nil {
		b.Fatal(err)
	}
	for _, name := range []string{"key-00050000", "absent-00050000"} {
		b.Run("key="+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				batch.Get([]byte(name))
			}
		})
	}
}

// However changes of single keys and of ranges follow each other in a batch, the last one of a key counts.
func TestBatchKeepsTheOrderOfChanges(t *testing.T) {
	d := openState(t, vfs.NewMem())
	defer d.Close()
	b := d.Group(1).NewBatch()
	defer b.Close()
	random := rand.New(rand.NewPCG(1, 2))
	want := map[string]string{}
	for index := range uint64(50) {
		for i := range 200 {
			key := fmt.Sprintf("key-%03d", random.IntN(40))
			switch random.IntN(20) {
			case 0:
				from, to := key, fmt.Sprintf("key-%03d", random.IntN(40))
				if from < to {
					b.DeleteRange([]byte(from), []byte(to))
					maps.DeleteFunc(want, func(k, _ string) bool { return k >= from && k < to })
				}
			case 1, 2, 3, 4:
				b.Delete([]byte(key))
				delete(want, key)
			default:
				value := fmt.Sprint(index, ".", i)
				b.Set([]byte(key), []byte(value))
				want[key] = value
			}
		}
		b.Commit(Applied{Index: index + 1, Term: 1})
		got := map[string]string{}
		d.Group(1).Reader().Scan(nil, []byte("l"), func(k, v []byte) bool { got[string(k)] = string(v); return true })
		if !maps.Equal(got, want) {
			t.Fatalf("batch %d: %v, want %v", index, got, want)
		}
	}
}
