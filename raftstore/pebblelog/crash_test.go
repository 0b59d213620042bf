package pebblelog_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/hashicorp/raft"

	"github.com/gavel-ads/gavel/raftstore/fatal"
	"github.com/gavel-ads/gavel/raftstore/pebblelog"
	"github.com/gavel-ads/gavel/raftstore/raftstoretest"
)

func openLog(t *testing.T, fs vfs.FS) (*pebblelog.DB, error) {
	t.Helper()
	e := fatal.NewExit(slog.New(slog.DiscardHandler), func(int) { panic("the log ended the process") })
	watchdog := fatal.NewWatchdog(e, time.Minute)
	t.Cleanup(watchdog.Close)
	cache := pebble.NewCache(1 << 20)
	t.Cleanup(cache.Unref)
	return pebblelog.Open(pebblelog.Options{
		FS: fs, Dir: "raftlog", GuardPath: "/guard", ClusterID: 1, Groups: []uint16{1}, Cache: cache, TailBytes: 1 << 20,
		Logger: fatal.NewLogger(e, slog.New(slog.DiscardHandler), "raftlog"), Exit: e, Watchdog: watchdog, CallLimit: time.Minute,
	})
}

// logState is everything that Raft relies on.
type logState struct {
	first, last, term, voteTerm uint64
	vote                        string
	terms                       [8]uint64 // The terms of the last entries, newest first.
}

func stateOf(t *testing.T, l *pebblelog.Log) (s logState) {
	t.Helper()
	s.first, _ = l.FirstIndex()
	s.last, _ = l.LastIndex()
	s.term, _ = l.GetUint64([]byte("CurrentTerm"))
	s.voteTerm, _ = l.GetUint64([]byte("LastVoteTerm"))
	vote, _ := l.Get([]byte("LastVoteCand"))
	s.vote = string(vote)
	for i := range s.terms {
		var e raft.Log
		if index := s.last - uint64(i); s.last > uint64(i) && index >= s.first {
			if err := l.GetLog(index, &e); err != nil {
				t.Fatal(err)
			}
			s.terms[i] = e.Term
		}
	}
	return s
}

// A power failure at every call while entries, truncations, terms and votes are written: afterwards the log is exactly
// as after the last acknowledged write, or the one after it, and neither guard nor bounds report damage.
func TestPowerFailureAtEveryCallOfTheLog(t *testing.T) {
	var acked atomic.Int64
	fs := raftstoretest.NewCrashFS(2, acked.Load)
	if err := fs.MkdirAll("raftlog", 0o755); err != nil {
		t.Fatal(err)
	}
	root, err := fs.OpenDir("/")
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(root.Sync(), root.Close()); err != nil {
		t.Fatal(err)
	}
	d, err := openLog(t, fs)
	if err != nil {
		t.Fatal(err)
	}
	l := d.Group(1)
	if err := l.Check(0); err != nil {
		t.Fatal(err)
	}
	states := []logState{stateOf(t, l)}
	step := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
		states = append(states, stateOf(t, l))
		acked.Add(1)
	}
	store := func(from, to, term uint64) error {
		var logs []*raft.Log
		for i := from; i <= to; i++ {
			logs = append(logs, &raft.Log{Index: i, Term: term, Data: bytes.Repeat([]byte{'d'}, 100)})
		}
		return l.StoreLogs(logs)
	}
	next := uint64(1)
	for term := uint64(1); term <= 12; term++ {
		step(l.SetUint64([]byte("CurrentTerm"), term))
		step(l.SetUint64([]byte("LastVoteTerm"), term))
		step(l.Set([]byte("LastVoteCand"), fmt.Append(nil, "n", term%3)))
		step(store(next, next+9, term))
		next += 10
		time.Sleep(time.Millisecond)
		switch term % 4 {
		case 1: // A follower deletes entries of an older leader.
			next -= 4
			step(l.DeleteRange(next, next+3))
		case 2: // A snapshot was taken.
			step(l.DeleteRange(1, next-6))
		case 3: // A snapshot was installed.
			step(l.DeleteRange(1, next-1))
		}
		step(store(next, next, term))
		next++
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	points := fs.Points()
	t.Logf("%d crash points, %d writes", len(points), len(states)-1)
	for _, p := range points {
		for _, percent := range raftstoretest.UnsyncedPercents {
			verify(t, p, percent, states)
		}
	}
}

func verify(t *testing.T, p raftstoretest.Point[int64], percent int, states []logState) {
	t.Helper()
	disk := p.Disks[percent]
	if _, err := disk.Stat("raftlog"); err != nil {
		return // The power failed before the test made the directory durable.
	}
	d, err := openLog(t, disk)
	if err != nil {
		if p.Acknowledged == 0 {
			return // Only an ordered file system makes the creation safe; the test of the whole store covers it.
		}
		t.Fatalf("crash before call %d (%s), %d%%: %v", p.Op, p.What, percent, err)
	}
	defer d.Close()
	l := d.Group(1)
	if err := l.Check(0); err != nil {
		t.Fatalf("crash before call %d (%s), %d%%: false alarm: %v", p.Op, p.What, percent, err)
	}
	got, want := stateOf(t, l), states[p.Acknowledged]
	if got != want && (int(p.Acknowledged)+1 >= len(states) || got != states[p.Acknowledged+1]) {
		t.Fatalf("crash before call %d (%s), %d%%: %+v after write %d, want %+v", p.Op, p.What, percent, got, p.Acknowledged, want)
	}
	if err := l.Walk(1, func(*raft.Log) {}); err != nil {
		t.Fatal(err)
	}
}
