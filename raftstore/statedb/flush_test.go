package statedb

import (
	"errors"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// noBlocks is a file system without a block left for a table or a log, while it is switched on.
type noBlocks struct {
	vfs.FS
	on     atomic.Bool
	failed atomic.Int32 // Writes to a log.
}

func (d *noBlocks) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if d.on.Load() && strings.HasSuffix(name, ".sst") {
		return nil, syscall.ENOSPC
	}
	f, err := d.FS.Create(name, c)
	if err == nil && strings.HasSuffix(name, ".log") {
		return logWithoutBlocks{f, d}, nil
	}
	return f, err
}

type logWithoutBlocks struct {
	vfs.File
	disk *noBlocks
}

func (f logWithoutBlocks) Write(b []byte) (int, error) {
	if f.disk.on.Load() {
		f.disk.failed.Add(1)
		return 0, syscall.ENOSPC
	}
	return f.File.Write(b)
}

// A flush without a block to write to ends with ErrFull, or when it is stopped; however often it is tried, it does not
// use up the memtables, without which no write ends; and it succeeds when there are blocks.
func TestFlushWithoutABlockEnds(t *testing.T) {
	fs := &noBlocks{FS: vfs.NewMem()}
	d := openState(t, fs)
	b := d.Group(1).NewBatch()
	fs.on.Store(true)
	for i := range uint64(20) {
		b.Set([]byte{'k', byte(i)}, []byte("v"))
		b.Commit(Applied{Index: i + 1, Term: 1})
		if err := d.Flush(nil); !errors.Is(err, ErrFull) {
			t.Fatal(err)
		}
	}
	stopped := make(chan struct{})
	close(stopped)
	for err := d.Flush(stopped); !errors.Is(err, ErrStopped); err = d.Flush(stopped) {
		if !errors.Is(err, ErrFull) { // Both may be true.
			t.Fatal(err)
		}
	}
	if got := d.Metrics().MemTable.Count; got > 2 {
		t.Errorf("%d memtables are in use", got)
	}
	fs.on.Store(false)
	for err := d.Flush(nil); err != nil; err = d.Flush(nil) {
		if !errors.Is(err, ErrFull) { // Told a moment ago.
			t.Fatal(err)
		}
	}
	fs.on.Store(true)
	b.Set([]byte("forgotten"), []byte("v"))
	b.Commit(Applied{Index: 99, Term: 1})
	if err := errors.Join(b.Close(), d.Close()); err != nil {
		t.Errorf("a close without a block: %v", err)
	}
	if fs.failed.Load() == 0 {
		t.Error("the close wrote nothing to a log")
	}
	fs.on.Store(false)
	d = openState(t, fs)
	if a, _, err := d.Group(1).Applied(); a.Index != 20 || err != nil {
		t.Errorf("the state is at %d: %v", a.Index, err)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
}
