package cli

import (
	"context"
	"fmt"
	"io"
	"iter"
	"time"

	"github.com/gavel-ads/gavel/node/backups"
	"github.com/gavel-ads/gavel/node/config"
	"github.com/gavel-ads/gavel/node/daemon"
)

// latest as --at is the end of the archive.
const latest = "latest"

// archivedLog is the archive of the log behind a backup.
type archivedLog struct {
	p          *process
	from       backupPlace
	identities backups.Identities
	names      []string // Of the segments that may follow the backup, in their order.
	until      time.Time
}

// archivedLog returns the archive that the command line names, or nil without --at.
func (c *restoreCommand) archivedLog(ctx context.Context, p *process, cfg *config.Config, backup *backupSource, m *daemon.Manifest) (*archivedLog, error) {
	if c.At == "" {
		return nil, nil //nolint:nilnil // No archive is a good answer.
	}
	l := &archivedLog{p: p, from: backup.from, identities: backup.identities}
	if c.At != latest {
		var err error
		if l.until, err = time.Parse(time.RFC3339Nano, c.At); err != nil {
			return nil, usageError{fmt.Errorf("gavel: --at is %q; it is latest, or a time such as 2026-11-27T05:00:00Z", c.At)}
		}
		if !l.until.After(m.TakenAt) {
			return nil, usageError{fmt.Errorf("gavel: --at is %s, and the backup was taken at %s; choose an older backup",
				c.At, m.TakenAt.Format(time.RFC3339Nano))}
		}
	}
	if c.Log != "" {
		var err error
		if l.from, err = openBackupPlace(c.Log, func() (config.Blob, error) { return cfg.Blob, nil }); err != nil {
			return nil, err
		}
	}
	return l, l.choose(ctx, m)
}

// choose finds the segments of the backup's cluster that may follow it. The place of an archive outlives clusters: after a
// restore it has segments of the former one, too, which no backup of the new one needs.
func (l *archivedLog) choose(ctx context.Context, m *daemon.Manifest) error {
	names, err := l.from.Names(ctx)
	if err != nil {
		return err
	}
	for _, name := range backups.SegmentsAfter(names, m.TakenAt) {
		var s daemon.Segment
		err := l.segment(ctx, name, func(r io.Reader) (err error) {
			s, err = daemon.ReadSegment(r)
			return err
		})
		if err != nil {
			return err
		}
		if s.Cluster == m.Cluster {
			l.names = append(l.names, name)
		}
	}
	return nil
}

// history returns the archive as the daemon reads it.
func (l *archivedLog) history(ctx context.Context) daemon.History {
	return daemon.History{Until: l.until, Segments: func() iter.Seq2[io.Reader, error] { return l.segments(ctx) }}
}

// segments yields the plain content of each segment. A segment is read to its end before the next one is opened.
func (l *archivedLog) segments(ctx context.Context) iter.Seq2[io.Reader, error] {
	return func(yield func(io.Reader, error) bool) {
		for _, name := range l.names {
			further := true
			err := l.segment(ctx, name, func(r io.Reader) error {
				further = yield(r, nil)
				return nil
			})
			if !further {
				return
			}
			if err != nil {
				yield(nil, err)
				return
			}
		}
	}
}

// segment calls read with the plain content of a segment.
func (l *archivedLog) segment(ctx context.Context, name string, read func(io.Reader) error) error {
	f, _, err := l.from.Open(ctx, name)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // It is only read.
	decrypted, err := backups.Decrypted(f, l.identities)
	if err != nil {
		return fmt.Errorf("%s: %w", l.from.Path(name), err)
	}
	plain, err := backups.Decompressed(decrypted)
	if err != nil {
		return fmt.Errorf("%s: %w", l.from.Path(name), err)
	}
	defer func() { _ = plain.Close() }() // It ends the goroutines of the reader, and has no error.
	if err := read(plain); err != nil {
		return fmt.Errorf("%s: %w", l.from.Path(name), err)
	}
	return nil
}

// verify checks that the archive follows the backup without a gap up to the wanted time, and prints what will be replayed.
func (l *archivedLog) verify(ctx context.Context, m daemon.Manifest) error {
	r, err := daemon.VerifyHistory(m, l.history(ctx))
	if err != nil {
		return fmt.Errorf("the archive of the log in %s: %w", l.from.Path(""), err)
	}
	until := r.Through
	if !l.until.IsZero() {
		until = l.until
	}
	_, err = fmt.Fprintf(l.p.out, "archive of the log: %s of %s follow the backup, up to %s\n",
		plural(r.Commands, "command"), plural(r.Segments, "segment"), until.Format(time.RFC3339Nano))
	return err
}
