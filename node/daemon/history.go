package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"time"

	"github.com/gavel-ads/gavel/node/operator"
	"github.com/gavel-ads/gavel/raftstore"
	"github.com/gavel-ads/gavel/raftstore/backup"
	"github.com/gavel-ads/gavel/shard/command"
)

// Segment describes the content of a segment of the archived log.
type Segment = backup.Segment

// ArchiveLog streams the part of the log that follows an archive. An archive that cannot be continued here is refused.
func (o operations) ArchiveLog(ctx context.Context, w io.Writer, r operator.LogRequest) error {
	_, err := o.raft.ArchiveLog(ctx, w, raftstore.ArchiveInfo{
		TakenAt: time.Now(), StateVersion: uint32(command.LevelNewest), After: r.After, Cluster: r.Cluster, Local: r.Local,
	})
	gap := errors.Is(err, raftstore.ErrLogGap)
	o.logCounts.count(time.Now(), err, gap)
	if gap || errors.Is(err, raftstore.ErrForeign) {
		return operator.Refused(err)
	}
	return err
}

// ReadSegment reads what a part of the log is, and none of its commands.
func ReadSegment(r io.Reader) (Segment, error) { return backup.ReadSegment(r) }

// VerifySegment reads a part of the log to its end and checks every checksum. It returns an error when it is damaged or
// incomplete.
func VerifySegment(r io.Reader) (Segment, error) { return backup.VerifySegment(r) }

// History is the archived log behind a backup, up to a time.
type History struct {
	// Segments returns the segments in the order of their times. It is called twice, to verify and to replay.
	Segments func() iter.Seq2[io.Reader, error]
	// Until is the last moment whose commands are replayed; zero: the end of the last segment.
	Until time.Time
}

// keep reports whether a command was proposed until the time. A command that cannot be opened is replayed as it was
// applied: with the same answer on every node.
func (h History) keep(_ uint16, cmd []byte) bool {
	c, err := command.Open(cmd)
	return err != nil || h.Until.IsZero() || c.NowMillis <= h.Until.UnixMilli()
}

// Replayed is what a verified archive has behind a backup.
type Replayed struct {
	Segments int
	Commands int
	Through  time.Time // When the last segment was taken.
}

// VerifyHistory reads the segments as far as a restore to the time needs them, and checks every checksum and that nothing
// is missing. It returns an error when the archive does not follow the backup, has a gap, is damaged, comes from a newer
// version, or ends before the time.
func VerifyHistory(m Manifest, h History) (r Replayed, err error) {
	tail := backup.NewTail(m, func(group uint16, cmd []byte) bool {
		kept := h.keep(group, cmd)
		if kept {
			r.Commands++
		}
		return kept
	})
	for segment, err := range h.Segments() {
		if err != nil {
			return r, err
		}
		s, err := tail.Read(segment, func(uint16, []byte) error { return nil }, func(backup.Span) error { return nil })
		if err != nil {
			return r, err
		}
		if s.StateVersion > uint32(command.LevelNewest) {
			return r, fmt.Errorf("a segment was written with feature level %d, this program knows %d: use the version that wrote it",
				s.StateVersion, command.LevelNewest)
		}
		r.Segments, r.Through = r.Segments+1, s.TakenAt
		if tail.Cut() {
			return r, nil
		}
	}
	switch {
	case r.Segments == 0:
		return r, errors.New("there is no segment of the log behind the backup: gavel archive writes them")
	case r.Through.Before(h.Until):
		return r, fmt.Errorf("the archive of the log ends at %s, before %s; --at latest replays all of it",
			r.Through.Format(time.RFC3339Nano), h.Until.Format(time.RFC3339Nano))
	}
	return r, nil
}
