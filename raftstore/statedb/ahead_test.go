package statedb

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// A scan that reads ahead gives the same records as one that does not, wherever it begins, ends or is stopped, and leaves no
// goroutine behind, which would end the bubble with an error.
func TestAheadIsReader(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, records := range []int{0, 1, 7, 6000} {
		t.Run(fmt.Sprint(records), func(t *testing.T) {
			d := openState(t, vfs.NewMem())
			g, b := d.Group(1), d.Group(1).NewBatch()
			for i := range records {
				size := random.IntN(200)
				if i%1000 == 7 {
					size = 2 * pieceBytes
				}
				b.Set(fmt.Appendf(nil, "k%05d", i), bytes.Repeat([]byte{byte(i)}, size))
			}
			b.Commit(Applied{Index: 1, Term: 1})
			stops := []int{-1, 0, 1, 6, 999, 3000, 5999}
			for range 10 {
				stops = append(stops, random.IntN(6000))
			}
			for _, stop := range stops {
				from, to := fmt.Appendf(nil, "k%05d", random.IntN(100)), fmt.Appendf(nil, "k%05d", 5000+random.IntN(2000))
				want := scanned(g.Reader(), from, to, stop)
				synctest.Test(t, func(t *testing.T) {
					if got := scanned(g.Ahead(), from, to, stop); got != want {
						t.Errorf("%s to %s, stopped after %d: %s, want %s", from, to, stop, got, want)
					}
				})
			}
			if err := b.Close(); err != nil {
				t.Error(err)
			}
			if err := d.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// scanned describes the records of a scan that is stopped after some of them: their number, a checksum, and the last key.
func scanned(r interface {
	Scan(from, to []byte, fn func(key, value []byte) bool)
}, from, to []byte, stop int,
) string {
	var count, sum int
	last := ""
	r.Scan(from, to, func(key, value []byte) bool {
		for i, b := range slices.Concat(key, value) {
			sum = (sum*31 + int(b) + i) % 1_000_003
		}
		last = string(key)
		count++
		return count != stop
	})
	return fmt.Sprintf("%d records, checksum %d, the last %q", count, sum, last)
}

// A read that fails ends the process, also when it was made ahead: a state machine must not begin with half a state.
func TestReadAheadFails(t *testing.T) {
	var broken atomic.Bool
	fs := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if broken.Load() && op.Kind == errorfs.OpFileReadAt {
			return syscall.EIO
		}
		return nil
	}))
	d := openState(t, fs)
	b := d.Group(1).NewBatch()
	for i := range 6000 {
		b.Set(fmt.Appendf(nil, "k%05d", i), make([]byte, 100))
	}
	b.Commit(Applied{Index: 1, Term: 1})
	if err := errors.Join(d.Flush(nil), b.Close()); err != nil {
		t.Fatal(err)
	}
	broken.Store(true)
	ended := func() (ended bool) {
		defer func() { ended = recover() != nil }()
		d.Group(1).Ahead().Scan(nil, []byte("l"), func(_, _ []byte) bool { return true })
		return false
	}()
	if !ended {
		t.Error("a scan of a broken disk ended as if it had read all")
	}
}
