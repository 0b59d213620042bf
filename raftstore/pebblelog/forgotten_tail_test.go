package pebblelog

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// A snapshot that replaces a log that goes on behind it, or ends with another entry in the same place, ends the
// process.
func TestReplacedLog(t *testing.T) {
	for _, c := range []struct {
		name        string
		index, term uint64 // The snapshot's last entry, 0 for none; the log has entries 1..10 of term 2.
		appended    bool   // An entry is appended before the log is deleted.
		ends        bool
	}{
		{"the log ends before", 12, 3, false, false},
		{"the log ends there", 10, 2, false, false},
		{"the log ends there with another entry", 10, 3, false, true},
		{"the log goes on", 9, 2, false, true},
		{"the log goes on, and was appended to since", 9, 2, true, false},
		{"there is no snapshot", 0, 0, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := mustOpen(t, vfs.NewMem())
			defer d.Close()
			l, last := d.Group(1), uint64(10)
			if err := l.StoreLogs(entries(1, 10, 2)); err != nil {
				t.Fatal(err)
			}
			if c.index > 0 {
				l.SnapshotInstalled(c.index, c.term)
			}
			if c.appended {
				last++
				if err := l.StoreLogs(entries(11, 11, 2)); err != nil {
					t.Fatal(err)
				}
			}
			ended := func() (ended bool) {
				defer func() { ended = recover() != nil }()
				if err := l.DeleteRange(1, last); err != nil {
					t.Fatal(err)
				}
				return
			}()
			if ended != c.ends {
				t.Errorf("the process ends: %t", ended)
			}
			wantRange(t, l, 0, 0) // The log is deleted before the process ends.
		})
	}
}
