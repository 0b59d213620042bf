// Package diskspace keeps a node from meeting a full disk: it measures free space, keeps a ballast file that is deleted
// when the disk is nearly full, and says what the node may still write. Pebble repeats a flush for ever on a full disk
// and ends the process on a commit, so no write may meet one.
package diskspace

import (
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/gavel-ads/gavel/raftstore/moment"
)

// ReserveOff as Config.Reserve turns the watch over free space off, the ballast file included.
const ReserveOff = -1

const (
	ballastName = "ballast"

	// The default reserve is the largest of a twentieth of the disk, 1 GiB, and two of the newest snapshot. A snapshot
	// that is not larger than the last one then always has room above the reserve: its size is at most half of the
	// reserve, and the other half is more than 192 MiB. So the log is truncated as long as commands are taken.
	reserveShare     = 20
	reserveBytesMin  = 1 << 30
	reserveSnapshots = 2

	hysteresisShare  = 10               // Low ends when a tenth more than the reserve is free.
	criticalMax      = 256 << 20        // BOUND: largest free space at which the ballast file is deleted.
	fullMax          = 128 << 20        // BOUND: largest free space at which a node is Full: the size of all memtables at once.
	quotaBytes       = 1 << 20          // BOUND: bytes of commands that a Full node stores.
	lowCampaignDelay = 10 * time.Second // How long a Low node leaves elections to others.
)

// Status is what a node knows about its disk. Of two disks (Config.WALDir) it is about the one with less free space.
//
//	free >= Reserve              normal
//	free <  Reserve              Low: transfers leaderships, refuses proposals as leader but reserved ones, follows on
//	free <  Reserve/2, 256 MiB   the ballast file is deleted, so that what is in memory can be flushed
//	free <  Reserve/4, 128 MiB   Full: no reserved proposals, stores no more than 1 MiB from a leader; votes, serves reads
//
// The last MiB is for entries that are on their way when all nodes become Low at once: they must be committed, or no
// node elected later could become ready and answer reads. Low ends by itself when a tenth more than the reserve is free
// and the ballast file is back. Pebble must never meet a full disk: it would repeat a flush for ever, and end the
// process on a commit.
type Status struct {
	Watched  bool   // False: the file system reports no free space, or Config.Reserve is ReserveOff. Then the rest is zero.
	Free     uint64 // Bytes that an ordinary user may still write.
	Total    uint64 // Size of the disk in bytes.
	Reserve  uint64 // Free bytes below which the node is Low.
	Ballast  uint64 // Bytes of the ballast file.
	Low      bool
	Full     bool
	Since    time.Time // When Low last changed; zero: never.
	LowCount uint64    // How often the node became low since it started.
}

// Config says which disks are watched, and how much has to stay free on them.
type Config struct {
	FS     vfs.FS
	Dir    string // The data directory, in which the ballast file lies.
	WALDir string // A directory on a disk of its own, watched too; empty: there is none.
	// Reserve is the free space in bytes below which the node is Low, or ReserveOff. [a twentieth of the disk, at least
	// 1 GiB and twice the newest snapshot]
	Reserve int64
	Ballast int64 // Bytes of the ballast file, at most half of the reserve; negative: there is none.
	// NewestSnapshot returns the bytes of the largest of the newest snapshots of the groups.
	NewestSnapshot func() int64
	Logger         *slog.Logger
}

// Watch watches the free space of a disk: Measure measures it, and all other methods report on the last measurement.
// Its methods are safe for concurrent use.
type Watch struct {
	c     Config
	low   atomic.Bool
	full  atomic.Bool
	since moment.Last // When low last changed.

	mark       atomic.Uint64 // Free bytes below which the node is Full; 0: free space is not watched.
	quotaUsed  atomic.Int64  // Bytes of commands stored while Full.
	fullPeriod atomic.Uint64 // Changes with each measurement at which the node is not Full.

	mu   sync.Mutex // One measurement at a time.
	last Status
}

// New returns a watch that has measured nothing yet.
func New(c Config) *Watch { return &Watch{c: c} }

// Status returns the result of the last measurement. It takes a mutex and measures nothing.
func (w *Watch) Status() Status {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.last
}

// Low reports whether the node is Low; see Status.
func (w *Watch) Low() bool { return w.low.Load() }

// Full reports whether the node is Full; see Status.
func (w *Watch) Full() bool { return w.full.Load() }

// MayCampaign reports whether this node may campaign, given when a leader last called it. A Low node leaves elections
// to others for 10 s. But when no node is elected for a while, because all voters are Low or the only complete log is
// here, a leader that refuses writes is better than none: followers catch up with it, and reads have an answer.
func (w *Watch) MayCampaign(contact time.Time) bool {
	return !w.Low() || time.Since(contact) > lowCampaignDelay && time.Since(w.since.Time()) > lowCampaignDelay
}

// Measure measures free space, moves between the states of Status, and deletes or writes the ballast file. A disk that
// cannot be measured is logged, and the state of the last measurement stays.
func (w *Watch) Measure() {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := &w.c
	if c.Reserve == ReserveOff {
		return
	}
	usage, err := w.usage()
	if err != nil {
		if !errors.Is(err, vfs.ErrUnsupported) {
			c.Logger.Warn("free_space_unmeasurable", slog.Any("err", err))
		}
		return // The state of the last measurement stays.
	}
	now := &w.last
	now.Watched, now.Free, now.Total, now.Reserve = true, usage.AvailBytes, usage.TotalBytes, w.reserve(usage.TotalBytes)
	now.Ballast = w.ballast()
	want := w.ballastWanted()
	enough := now.Reserve + now.Reserve/hysteresisShare
	switch {
	case now.Free < min(now.Reserve/2, criticalMax):
		w.dropBallast()
	case now.Ballast != want && now.Free >= enough+want:
		w.makeBallast(want)
	}
	low := now.Low
	switch {
	case now.Free < now.Reserve:
		low = true
	case now.Free >= enough && now.Ballast == want:
		low = false
	}
	mark := min(now.Reserve/4, fullMax)
	w.mark.Store(mark)
	w.full.Store(now.Free+now.Ballast < mark)
	if now.Full = w.full.Load(); !now.Full {
		w.quotaUsed.Store(0)
		w.fullPeriod.Add(1)
	}
	if low != now.Low {
		w.setLow(low)
	}
}

// setLow enters or leaves the state Low. LOCKS: mu is held.
func (w *Watch) setLow(low bool) {
	now := &w.last
	now.Low, now.Since = low, time.Now()
	w.since.Mark()
	w.low.Store(low)
	attrs := []any{slog.Uint64("free_bytes", now.Free), slog.Uint64("reserve_bytes", now.Reserve)}
	if low {
		now.LowCount++
		w.c.Logger.Error("disk_space_low", append(attrs, slog.String("action", "free space on the disk; until then this node takes no writes"))...)
		return
	}
	w.c.Logger.Info("disk_space_recovered", attrs...)
}

// usage returns the usage of the disk with less free space.
func (w *Watch) usage() (vfs.DiskUsage, error) {
	c := &w.c
	usage, err := c.FS.GetDiskUsage(c.Dir)
	if err != nil || c.WALDir == "" {
		return usage, err
	}
	wal, err := c.FS.GetDiskUsage(c.WALDir)
	if wal.AvailBytes < usage.AvailBytes {
		usage = wal
	}
	return usage, err
}

func (w *Watch) reserve(total uint64) uint64 {
	if set := w.c.Reserve; set > 0 {
		return uint64(set)
	}
	return max(total/reserveShare, reserveBytesMin, reserveSnapshots*uint64(w.c.NewestSnapshot()))
}
