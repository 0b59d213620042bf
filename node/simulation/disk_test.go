package simulation_test

import (
	"errors"
	"math/rand/v2"
	"path"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

var errDisk = errors.New("input/output error")

// faultyDisk makes the disk of a node slow, or makes writes to one kind of its files fail. Only syncs of the tail guard, for
// which every write of the log waits, of tables and of snapshots are slow. Those of Pebble's logs and manifests are not:
// Pebble holds mutexes around some of them, and a bubble's time stops while a goroutine waits for a mutex.
type faultyDisk struct {
	slow atomic.Int64 // The longest time of a sync in nanoseconds.

	mu      sync.Mutex
	rng     *rand.Rand
	current *faultyFS // The file system of the current run of the node.
}

// fileKinds are the kinds of files that may fail. The log is not among them: Pebble panics when it begins the next log file
// after a failed write.
var fileKinds = []string{"guard", "state", "snapshot"}

func newFaultyDisk(seed uint64) *faultyDisk { return &faultyDisk{rng: rand.New(rand.NewPCG(seed, 5))} }

// beginRun returns the file system of a new run of the node. The file system of the run before has no faults from now on, so
// that its goroutines can end.
func (d *faultyDisk) beginRun(fs vfs.FS) vfs.FS {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.current != nil {
		d.current.ended.Store(true)
	}
	d.current = &faultyFS{FS: fs, disk: d}
	return d.current
}

// fail makes the writes to a kind of files fail until the end of the run. It returns false if the node does not run.
func (d *faultyDisk) fail(kind string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.current == nil || d.current.ended.Load() {
		return false
	}
	d.current.failing.Store(&kind)
	return true
}

// wait returns how long the next sync takes.
func (d *faultyDisk) wait() time.Duration {
	slow := d.slow.Load()
	if slow == 0 {
		return 0
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return time.Duration(d.rng.Int64N(slow))
}

// faultyFS is the file system of one run of a node.
type faultyFS struct {
	vfs.FS
	disk    *faultyDisk
	ended   atomic.Bool
	failing atomic.Pointer[string]
	hits    atomic.Int64
}

// kindOf returns the kind of a file, or an empty text for files that never fail.
func kindOf(name string) string {
	switch dir := path.Dir(name); {
	case path.Base(name) == "guard":
		return "guard"
	case path.Ext(name) == ".sst":
		return "state"
	case strings.Contains(dir, "snapshots"):
		return "snapshot"
	default:
		return ""
	}
}

// beforeIO is called before every write and sync of a file. It returns the injected error, or waits before a slow sync. Writes
// go to the cache of the operating system and are never slow.
func (f *faultyFS) beforeIO(kind string, syncs bool) error {
	if f.ended.Load() {
		return nil
	}
	if failing := f.failing.Load(); failing != nil && *failing == kind {
		f.hits.Add(1)
		return errDisk
	}
	if syncs {
		time.Sleep(f.disk.wait())
	}
	return nil
}

func (f *faultyFS) wrap(name string, file vfs.File, err error) (vfs.File, error) {
	kind := kindOf(name)
	if err != nil || kind == "" {
		return file, err
	}
	return faultyFile{file, f, kind}, nil
}

func (f *faultyFS) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	file, err := f.FS.Create(name, c)
	return f.wrap(name, file, err)
}

func (f *faultyFS) OpenReadWrite(name string, c vfs.DiskWriteCategory, o ...vfs.OpenOption) (vfs.File, error) {
	file, err := f.FS.OpenReadWrite(name, c, o...)
	return f.wrap(name, file, err)
}

func (f *faultyFS) ReuseForWrite(from, to string, c vfs.DiskWriteCategory) (vfs.File, error) {
	file, err := f.FS.ReuseForWrite(from, to, c)
	return f.wrap(to, file, err)
}

func (f *faultyFS) Unwrap() vfs.FS { return f.FS }

// faultyFile is a file of a kind that may fail.
type faultyFile struct {
	vfs.File
	fs   *faultyFS
	kind string
}

func (f faultyFile) Write(b []byte) (int, error) {
	if err := f.fs.beforeIO(f.kind, false); err != nil {
		return 0, err
	}
	return f.File.Write(b)
}

func (f faultyFile) WriteAt(b []byte, at int64) (int, error) {
	if err := f.fs.beforeIO(f.kind, false); err != nil {
		return 0, err
	}
	return f.File.WriteAt(b, at)
}

func (f faultyFile) Sync() error {
	if err := f.fs.beforeIO(f.kind, true); err != nil {
		return err
	}
	return f.File.Sync()
}

func (f faultyFile) SyncData() error {
	if err := f.fs.beforeIO(f.kind, true); err != nil {
		return err
	}
	return f.File.SyncData()
}

func (f faultyFile) SyncTo(length int64) (bool, error) {
	if err := f.fs.beforeIO(f.kind, true); err != nil {
		return false, err
	}
	return f.File.SyncTo(length)
}
