package raftstore_test

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/gavel-ads/gavel/raftstore"
	"github.com/gavel-ads/gavel/raftstore/raftstoretest"
)

// deferring is Counters whose writes may be deferred until the test says otherwise.
type deferring struct {
	*raftstoretest.Counters
	mu   sync.Mutex
	must bool
}

func (d *deferring) EndBatch() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return !d.must
}

func (d *deferring) mustWrite(must bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.must = must
}

// deferringConfig is config with a machine that defers writes.
func deferringConfig(fs vfs.FS) (raftstore.Config, *deferring) {
	d := &deferring{Counters: raftstoretest.NewCounters()}
	c := config(fs, 1)
	c.Machine = func(uint16) raftstore.StateMachine { return d }
	return c, d
}

// A deferred batch is answered before it is written. Whatever reads the state sees it, and the next batch that must not
// wait brings it along in one write.
func TestReadsSeeDeferredChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, machine := deferringConfig(vfs.NewMem())
		s := open(t, c)
		g := s.Group(1)
		before := s.Status()[0].Batches
		for range 3 {
			propose(t, g, "a")
		}
		machine.mustWrite(true)
		propose(t, g, "b")
		machine.mustWrite(false)
		if got := s.Status()[0]; got.Batches != before+1 || got.Digest != machine.Digest() {
			t.Errorf("four batches were written in %d writes; digest %x of the state, %x of the machine",
				got.Batches-before, got.Digest, machine.Digest())
		}
		_, index, err := g.ProposeAt(t.Context(), []byte("a"))
		if err != nil || g.WaitApplied(t.Context(), index) != nil {
			t.Fatal(err)
		}
		if n := read(t, g, "a"); n != 4 {
			t.Errorf("a read after the answer sees %d of 4", n)
		}
		propose(t, g, "a")
		if got := s.Status()[0]; got.Applied <= index || got.Digest != machine.Digest() {
			t.Errorf("the status is at %d with digest %x; the last command is after %d and led to %x",
				got.Applied, got.Digest, index, machine.Digest())
		}
		closeStore(t, s)
	})
}

// ReadWritten writes nothing: it sees a deferred change only once something else has written it.
func TestReadWrittenDoesNotWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, machine := deferringConfig(vfs.NewMem())
		s := open(t, c)
		g := s.Group(1)
		written := func() (n uint64) {
			if err := g.ReadWritten(func(r raftstore.Reader) error { n = storedCount(r, "a"); return nil }); err != nil {
				t.Fatal(err)
			}
			return n
		}
		propose(t, g, "a")
		if n := written(); n != 0 {
			t.Errorf("%d deferred changes are seen", n)
		}
		if n := read(t, g, "a"); n != 1 {
			t.Errorf("a read sees %d of 1", n)
		}
		if n := written(); n != 1 {
			t.Errorf("%d of 1 written changes are seen", n)
		}
		propose(t, g, "a")
		machine.mustWrite(true)
		propose(t, g, "b")
		machine.mustWrite(false)
		if n := written(); n != 2 {
			t.Errorf("after a batch that had to be written, %d of 2 changes are seen", n)
		}
		closeStore(t, s)
	})
}

// The changes of more commands than deferredBytesMax holds are written without anybody reading them.
func TestDeferredChangesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := deferringConfig(vfs.NewMem())
		c.Machine = func(uint16) raftstore.StateMachine { return &blobs{deferrable: true} }
		s := open(t, c)
		before := s.Status()[0].Batches
		const commands, bytes = 64, 16 << 10
		for i := range commands {
			cmd := slices.Repeat([]byte{byte(i)}, bytes)
			if _, err := s.Group(1).Propose(t.Context(), cmd); err != nil {
				t.Fatal(err)
			}
		}
		// 16 commands of 16 KiB fill 256 KiB.
		if n := s.Status()[0].Batches - before; n < commands/16 || n > commands/16+2 {
			t.Errorf("%d writes for %d KiB", n, commands*bytes>>10)
		}
		closeStore(t, s)
	})
}

// A power failure takes deferred changes, and the log brings them back: nothing that was answered is lost. A snapshot
// contains them, and Close writes them.
func TestDeferredChangesSurvive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := vfs.NewCrashableMem()
		c, _ := deferringConfig(mem)
		s := open(t, c)
		for range 5 {
			propose(t, s.Group(1), "a")
		}
		disk := mem.CrashClone(vfs.CrashCloneCfg{})
		closeStore(t, s)
		for name, fs := range map[string]vfs.FS{"power failure": disk, "close": mem} {
			c, _ := deferringConfig(fs)
			s := open(t, c)
			if n := read(t, s.Group(1), "a"); n != 5 {
				t.Errorf("after the %s: %d of 5", name, n)
			}
			if n := propose(t, s.Group(1), "a"); n != 6 {
				t.Errorf("after the %s the next count is %d", name, n)
			}
			closeStore(t, s)
		}
	})
}
