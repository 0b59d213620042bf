package raftstore

import (
	"context"
	"time"

	"github.com/hashicorp/raft"
)

const (
	// snapshotRest is how many times as long a snapshot rests as it has worked. It takes a tenth of a CPU then, and one of ten
	// million bids takes minutes. On two CPUs that answer auctions, without rests such a snapshot made their p99 4 to 14 times
	// as long, with these twice (bench/results/2026-11-29-large.md).
	snapshotRest = 9
	// snapshotRestMax bounds one rest. BOUND: work that the machine stopped for long is no reason to rest for longer.
	snapshotRestMax = time.Second
	// snapshotPaceRecords is after how many records a snapshot looks whether it has worked for long enough.
	snapshotPaceRecords = 64
	// snapshotWorkMin is the shortest work that is worth a timer. A small state is written without a rest.
	snapshotWorkMin = time.Millisecond
)

// pacedSink is the stream of a snapshot that is being written: it leaves the CPUs and the disk to requests, and begins nothing
// that takes long once its store closes.
type pacedSink struct {
	ctx     context.Context // Of the store.
	sink    raft.SnapshotSink
	urgent  func() bool // The log has grown by so many bytes that the next snapshot is due already: there is no rest.
	n       uint64      // Bytes written.
	records int         // Records added.
	began   time.Time   // When the work began that was not rested for.
}

// Write appends to the snapshot and rests, or returns ErrClosed.
func (s *pacedSink) Write(b []byte) (int, error) {
	if s.ctx.Err() != nil {
		return 0, ErrClosed
	}
	n, err := s.sink.Write(b)
	s.n += uint64(n)
	s.rest()
	return n, err
}

// record tells that one more record is about to be added, so that work is rested for before it fills a block.
func (s *pacedSink) record() {
	if s.records++; s.records%snapshotPaceRecords == 0 {
		s.rest()
	}
}

func (s *pacedSink) rest() {
	worked := time.Since(s.began)
	if worked < snapshotWorkMin {
		return
	}
	if !s.urgent() {
		timer := time.NewTimer(min(snapshotRest*worked, snapshotRestMax))
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-s.ctx.Done():
		}
	}
	s.began = time.Now()
}

// Close writes what is left and makes the snapshot durable, or returns ErrClosed.
func (s *pacedSink) Close() error {
	if s.ctx.Err() != nil {
		return ErrClosed
	}
	return s.sink.Close()
}
