package fatal

import (
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// A call that stays slow ends the process; one that waited while the process was stopped does not, however often the
// process is stopped.
func TestSlowDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := 0
		exit := NewExit(slog.New(slog.DiscardHandler), func(int) { ended++; panic("ended") })
		listener := NewLogger(exit, slog.New(slog.DiscardHandler), "state").Listener(new(Events), 5*time.Second)
		report := func(path string, age time.Duration) {
			defer func() { _ = recover() }()
			listener.DiskSlow(pebble.DiskSlowInfo{Path: path, Duration: age})
		}
		for range 3 { // The process is stopped for 20 s, three times, always in a write of the same file.
			time.Sleep(20 * time.Second)
			report("000007.log", 20*time.Second)
		}
		if ended != 0 {
			t.Fatal("a process that was stopped ended itself when it continued")
		}
		report("000008.log", 4*time.Second) // This is below the limit.
		time.Sleep(2 * time.Second)
		report("000008.log", 6*time.Second)
		time.Sleep(2 * time.Second)
		if ended != 0 {
			t.Fatal("one report over the limit ended the process")
		}
		report("000008.log", 8*time.Second)
		if ended != 1 {
			t.Fatal("a call that stays slow did not end the process")
		}
	})
}
