package diskspace_test

import (
	"log/slog"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/gavel-ads/gavel/raftstore/diskspace"
	"github.com/gavel-ads/gavel/raftstore/raftstoretest"
)

const mib = 1 << 20

// watch returns a watch over a disk of some bytes whose newest snapshot has some bytes.
func watch(total, reserve, snapshot int64) (*diskspace.Watch, *raftstoretest.SmallDisk) {
	return watchOn(vfs.NewMem(), total, reserve, snapshot)
}

func watchOn(fs vfs.FS, total, reserve, snapshot int64) (*diskspace.Watch, *raftstoretest.SmallDisk) {
	_ = fs.MkdirAll("node", 0o700) // Never fails.
	d := raftstoretest.NewSmallDisk(fs, "node", total)
	return diskspace.New(diskspace.Config{
		FS: d, Dir: "node", Reserve: reserve, Ballast: 64 * mib, Logger: slog.New(slog.DiscardHandler),
		NewestSnapshot: func() int64 { return snapshot },
	}), d
}

func TestReserveByDefaultAndOff(t *testing.T) {
	for _, tc := range []struct {
		total, reserve, snapshot int64
		want                     diskspace.Status
	}{
		{100 << 30, 0, 0, diskspace.Status{Watched: true, Reserve: 5 << 30, Ballast: 64 * mib}},
		{10 << 30, 0, 0, diskspace.Status{Watched: true, Reserve: 1 << 30, Ballast: 64 * mib}},
		{10 << 30, 0, 1 << 30, diskspace.Status{Watched: true, Reserve: 2 << 30, Ballast: 64 * mib}},
		{10 << 30, 20 * mib, 0, diskspace.Status{Watched: true, Reserve: 20 * mib, Ballast: 10 * mib}},
		{100 * mib, diskspace.ReserveOff, 0, diskspace.Status{}},
	} {
		w, _ := watch(tc.total, tc.reserve, tc.snapshot)
		w.Measure()
		got := w.Status()
		got.Free, got.Total = 0, 0
		if got != tc.want {
			t.Errorf("disk of %d bytes, reserve %d, snapshot of %d: %+v", tc.total, tc.reserve, tc.snapshot, got)
		}
	}
}

// A disk that fills up and is freed again goes through the states in order, and the ballast file goes and comes back.
func TestStatesOfAFillingDisk(t *testing.T) {
	w, d := watch(1<<30, 128*mib, 0)
	for i, step := range []struct {
		free             int64
		low, full        bool
		ballast, install bool // There is a ballast file; a snapshot of 20 MiB may be installed.
	}{
		{900 * mib, false, false, true, true},
		{129 * mib, false, false, true, true},
		{127 * mib, true, false, true, true},
		{130 * mib, true, false, true, true}, // Low ends a tenth above the reserve.
		{60 * mib, true, false, false, true}, // The 64 MiB of the ballast file are free now.
		{50 * mib, true, false, false, false},
		{10 * mib, true, true, false, false},
		{900 * mib, false, false, true, true},
	} {
		d.FillUpTo(step.free)
		w.Measure()
		got := w.Status()
		if got.Low != step.low || got.Full != step.full || (got.Ballast != 0) != step.ballast || w.MayInstall(20*mib) != step.install {
			t.Errorf("step %d: %+v, may install %v", i, got, w.MayInstall(20*mib))
		}
	}
	if w.MayCampaign(time.Now()) != true {
		t.Error("a node with space leaves elections to others")
	}
}

// journaled is a file system that gives the blocks of deleted files to others once their directory is synced.
type journaled struct {
	vfs.FS
	held bool // Blocks of a deleted file are not free yet.
}

func (d *journaled) Remove(name string) error {
	d.held = true
	return d.FS.Remove(name)
}

func (d *journaled) OpenDir(name string) (vfs.File, error) {
	f, err := d.FS.OpenDir(name)
	return journaledDir{f, d}, err
}

type journaledDir struct {
	vfs.File
	disk *journaled
}

func (f journaledDir) Sync() error {
	f.disk.held = false
	return f.File.Sync()
}

// Space that is counted as free after the ballast file was deleted can be written to.
func TestTheSpaceOfTheBallastIsFree(t *testing.T) {
	fs := &journaled{FS: vfs.NewMem()}
	w, d := watchOn(fs, 1<<30, 128*mib, 0)
	w.Measure()
	before := w.Status().Ballast
	d.FillUpTo(60 * mib)
	w.Measure()
	if got := w.Status(); before == 0 || got.Ballast != 0 || fs.held {
		t.Errorf("%+v after %d bytes of ballast; blocks of the deleted file are held: %v", got, before, fs.held)
	}
}
