package pebblelog

import (
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestCompactionBesideAppends does what Raft does: the main loop appends while the snapshot goroutine deletes a prefix.
// The bounds in memory and on disk must be those of the entries, or the next append or the next start fails.
func TestCompactionBesideAppends(t *testing.T) {
	const count, kept = 2_000, 10
	fs := vfs.NewMem()
	d := mustOpen(t, fs)
	l := d.Group(1)
	if err := l.StoreLogs(entries(1, kept, 1)); err != nil {
		t.Fatal(err)
	}
	var both sync.WaitGroup
	both.Go(func() {
		for i := uint64(kept + 1); i <= count; i++ {
			if err := l.StoreLogs(entries(i, i, 1)); err != nil {
				t.Error(err)
			}
		}
	})
	both.Go(func() {
		for {
			first, _ := l.FirstIndex()
			last, _ := l.LastIndex()
			if last == count {
				return
			}
			if last-first > kept {
				if err := l.DeleteRange(first, last-kept); err != nil {
					t.Error(err)
				}
			}
		}
	})
	both.Wait()
	first, _ := l.FirstIndex()
	wantRange(t, l, first, count)
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	d = mustOpen(t, fs) // It compares the bounds with the entries.
	wantRange(t, d.Group(1), first, count)
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
}
