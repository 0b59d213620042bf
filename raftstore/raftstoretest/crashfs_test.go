package raftstoretest

import (
	"sync"
	"testing"
)

// A directory is locked while another goroutine changes files, as when a store opens and the former one still cleans up.
func TestLockBesideCopies(t *testing.T) {
	fs := NewCrashFS(1, func() int { return 0 })
	if err := fs.MkdirAll("d", 0o700); err != nil {
		t.Fatal(err)
	}
	var both sync.WaitGroup
	for _, change := range []func() error{
		func() error { return fs.Remove("nothing") }, // It makes copies, and then fails.
		func() error {
			l, err := fs.Lock("d/LOCK")
			if err != nil {
				return err
			}
			return l.Close()
		},
	} {
		both.Go(func() {
			for range 5_000 {
				_ = change() // Only the end counts.
			}
		})
	}
	both.Wait()
}
