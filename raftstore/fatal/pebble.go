package fatal

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// Events counts what a Pebble database reported about its disk.
type Events struct {
	DiskSlow         atomic.Uint64 // Reports of slow disk calls.
	BackgroundErrors atomic.Uint64 // Failed flushes and compactions.
	WriteStalls      atomic.Uint64 // Times at which Pebble stopped writes.
}

// Logger is Pebble's logger on slog. Its Fatalf ends the process, as Pebble assumes.
type Logger struct {
	exit *Exit
	log  *slog.Logger
}

// NewLogger returns the logger of the database called name.
func NewLogger(exit *Exit, log *slog.Logger, name string) Logger {
	return Logger{exit: exit, log: log.With(slog.String("db", name))}
}

// Infof logs at debug level, because Pebble reports every flush and compaction.
func (l Logger) Infof(format string, args ...any) {
	l.log.Debug("pebble", slog.String("text", fmt.Sprintf(format, args...)))
}

// Errorf logs an error that Pebble handles itself.
func (l Logger) Errorf(format string, args ...any) {
	closes := func(arg any) bool {
		err, is := arg.(error)
		return is && errors.Is(err, pebble.ErrClosed)
	}
	if slices.ContainsFunc(args, closes) {
		return // Work that ends because the database closes.
	}
	l.log.Error("pebble", slog.String("text", fmt.Sprintf(format, args...)))
}

// Fatalf ends the process: Pebble calls it after failed commits and log rotations and assumes that it does not return.
func (l Logger) Fatalf(format string, args ...any) {
	l.exit.Now("pebble", fmt.Errorf(format, args...))
}

// Listener returns the event listener of a database. A slow call that is older than limit ends the process like any
// storage call, once it is reported twice (see slowCalls). Corrupt data ends it at once, and so does a background
// error, except on a full disk, where that error is only counted and logged.
func (l Logger) Listener(events *Events, limit time.Duration) *pebble.EventListener {
	var slow slowCalls
	return &pebble.EventListener{
		DiskSlow: func(i pebble.DiskSlowInfo) {
			events.DiskSlow.Add(1)
			l.log.Warn("disk_slow", slog.String("file", i.Path), slog.Duration("duration", i.Duration))
			if i.Duration >= limit && slow.stuck(i.Path, time.Now(), i.Duration) {
				l.exit.Now("disk is slow", errors.New(i.String()))
			}
		},
		BackgroundError: func(err error) {
			if errors.Is(err, pebble.ErrClosed) {
				return
			}
			events.BackgroundErrors.Add(1)
			if !vfs.IsNoSpaceError(err) { // Pebble would repeat it for ever without a pause, and a flush would never return.
				l.exit.Now("background write failed", err)
			}
			l.log.Error("background_write_failed", slog.String("reason", "the disk is full"), slog.Any("err", err))
		},
		WriteStallBegin: func(i pebble.WriteStallBeginInfo) {
			events.WriteStalls.Add(1)
			l.log.Warn("writes_stalled", slog.String("reason", i.Reason))
		},
		LowDiskSpace: func(i pebble.LowDiskSpaceInfo) {
			l.log.Warn("pebble_disk_space_low", slog.String("text", i.String()))
		},
		DataCorruption: func(i pebble.DataCorruptionInfo) {
			l.exit.Now("data is corrupt", fmt.Errorf("%s: %w", i.Path, i.Details))
		},
	}
}
