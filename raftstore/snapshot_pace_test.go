package raftstore

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gavel-ads/gavel/raftstore/snapshot"
)

// slowSink is a sink on a slow disk.
type slowSink struct {
	each   time.Duration
	closed bool
}

func (s *slowSink) Write(b []byte) (int, error) {
	time.Sleep(s.each)
	return len(b), nil
}

func (s *slowSink) Close() error {
	s.closed = true
	return nil
}

func (*slowSink) ID() string    { return "slow" }
func (*slowSink) Cancel() error { return nil }

// A snapshot works for a tenth of the time, unless the next one is due already; short work is not worth a rest, and a rest
// ends with the store.
func TestASnapshotRests(t *testing.T) {
	const writes = 10
	for _, tc := range []struct {
		name   string
		each   time.Duration
		urgent bool
		want   time.Duration
	}{
		{"a large state", 30 * time.Millisecond, false, writes * 300 * time.Millisecond},
		{"the next one is due", 30 * time.Millisecond, true, writes * 30 * time.Millisecond},
		{"a small state", snapshotWorkMin / 20, false, writes * snapshotWorkMin / 20},
		{"short work adds up", snapshotWorkMin / 2, false, 5 * 10 * snapshotWorkMin},
		{"a disk that stalls", 10 * time.Second, false, writes * (10*time.Second + snapshotRestMax)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				s := &pacedSink{ctx: t.Context(), sink: &slowSink{each: tc.each}, urgent: func() bool { return tc.urgent }, began: began}
				for range writes {
					if _, err := s.Write(make([]byte, 100)); err != nil {
						t.Fatal(err)
					}
				}
				if took := time.Since(began); took != tc.want || s.n != 100*writes {
					t.Errorf("%d bytes in %v, want %v", s.n, took, tc.want)
				}
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		disk := &slowSink{each: time.Second}
		s := &pacedSink{ctx: ctx, sink: disk, urgent: func() bool { return false }, began: time.Now()}
		began := time.Now()
		time.AfterFunc(time.Second+time.Millisecond, stop)
		if _, err := s.Write(nil); err != nil || time.Since(began) != time.Second+time.Millisecond {
			t.Errorf("the rest ended after %v, %v", time.Since(began), err)
		}
		if _, err := s.Write(nil); !errors.Is(err, ErrClosed) || !errors.Is(s.Close(), ErrClosed) || disk.closed {
			t.Errorf("the snapshot went on: %v", err)
		}
	})
}

// A snapshot stops resting when its log has grown by the bytes that make the next one due.
func TestASnapshotIsUrgentWhenTheNextIsDue(t *testing.T) {
	m := &machine{store: &Store{c: Config{SnapshotBytes: 1_000}}, snaps: &snapshot.Store{}}
	m.logSize.seen.Store(5_000)
	p := &pendingSnapshot{machine: m, logSeen: m.logSize.seen.Load()}
	for grown, want := range map[int64]bool{0: false, 999: false, 1_000: true} {
		if m.logSize.seen.Store(5_000 + grown); p.nextIsDue() != want {
			t.Errorf("after %d bytes: %v", grown, !want)
		}
	}
}

// A snapshot rests also while the records that it adds have not filled a block.
func TestASnapshotRestsBetweenRecords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		s := &pacedSink{ctx: t.Context(), sink: &slowSink{}, urgent: func() bool { return false }, began: began}
		const work = 100 * time.Microsecond
		for range 2 * snapshotPaceRecords {
			time.Sleep(work)
			s.record()
		}
		if took, want := time.Since(began), 2*snapshotPaceRecords*work*(1+snapshotRest); took != want {
			t.Errorf("%v, want %v", took, want)
		}
	})
}
