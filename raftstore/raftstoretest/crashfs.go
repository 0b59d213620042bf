package raftstoretest

import (
	"io"
	"math/rand/v2"
	"os"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Point is a moment at which the power failed: what each kind of disk holds then, and what had been acknowledged.
type Point[T any] struct {
	Op           int    // 1 for the first call that changes the file system.
	What         string // The call that did not happen.
	Acknowledged T      // What was acknowledged before the crash, and must be there after it.
	Disks        map[int]*vfs.MemFS
}

// UnsyncedPercents are the disks of a Point: what was not synced is lost, half of it there block by block, or all
// there.
var UnsyncedPercents = []int{0, 50, 100}

// CrashFS is a file system in memory that keeps a copy of itself, as it would be after a power failure, just before
// every call that changes it. So one run of a workload covers a crash at every call.
type CrashFS[T any] struct {
	vfs.FS
	mem          *vfs.MemFS
	acknowledged func() T

	mu     sync.Mutex
	rng    *rand.Rand
	on     bool
	op     int
	points []Point[T]
}

// NewCrashFS returns an empty file system. promised is called before every copy and returns what is acknowledged so
// far.
func NewCrashFS[T any](seed uint64, promised func() T) *CrashFS[T] {
	mem := vfs.NewCrashableMem()
	return &CrashFS[T]{FS: mem, mem: mem, acknowledged: promised, rng: rand.New(rand.NewPCG(seed, seed)), on: true}
}

// Points ends the recording and returns all moments.
func (c *CrashFS[T]) Points() []Point[T] {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.on = false
	return c.points
}

// before makes a copy. INVARIANT: what was acknowledged is asked before the copy is made, so a copy never lacks an
// acknowledged change by being too early.
func (c *CrashFS[T]) before(what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.on {
		return
	}
	c.op++
	p := Point[T]{Op: c.op, What: what, Acknowledged: c.acknowledged(), Disks: map[int]*vfs.MemFS{}}
	for _, percent := range UnsyncedPercents {
		p.Disks[percent] = c.mem.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: percent, RNG: c.rng})
	}
	c.points = append(c.points, p)
}

// Create implements vfs.FS, like all below.
func (c *CrashFS[T]) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	c.before("create " + name)
	return c.wrap(c.FS.Create(name, category))
}

func (c *CrashFS[T]) Link(oldname, newname string) error {
	c.before("link " + newname)
	return c.FS.Link(oldname, newname)
}

func (c *CrashFS[T]) Open(name string, o ...vfs.OpenOption) (vfs.File, error) {
	return c.FS.Open(name, o...)
}

func (c *CrashFS[T]) OpenReadWrite(name string, category vfs.DiskWriteCategory, o ...vfs.OpenOption) (vfs.File, error) {
	c.before("open " + name)
	return c.wrap(c.FS.OpenReadWrite(name, category, o...))
}

func (c *CrashFS[T]) OpenDir(name string) (vfs.File, error) { return c.wrap(c.FS.OpenDir(name)) }

func (c *CrashFS[T]) Remove(name string) error {
	c.before("remove " + name)
	return c.FS.Remove(name)
}

func (c *CrashFS[T]) RemoveAll(name string) error {
	c.before("remove all " + name)
	return c.FS.RemoveAll(name)
}

func (c *CrashFS[T]) Rename(oldname, newname string) error {
	c.before("rename " + newname)
	return c.FS.Rename(oldname, newname)
}

func (c *CrashFS[T]) ReuseForWrite(oldname, newname string, category vfs.DiskWriteCategory) (vfs.File, error) {
	c.before("reuse " + newname)
	return c.wrap(c.FS.ReuseForWrite(oldname, newname, category))
}

func (c *CrashFS[T]) MkdirAll(dir string, perm os.FileMode) error {
	c.before("mkdir " + dir)
	return c.FS.MkdirAll(dir, perm)
}

// Lock lets no copy be made meanwhile: MemFS.Lock of Pebble 2.1.7 takes the read lock against copies twice, and a copy that
// begins between the two waits for the first and blocks the second for ever.
func (c *CrashFS[T]) Lock(name string) (io.Closer, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.FS.Lock(name)
}

func (c *CrashFS[T]) Unwrap() vfs.FS { return c.FS }

func (c *CrashFS[T]) wrap(f vfs.File, err error) (vfs.File, error) {
	if err != nil {
		return nil, err
	}
	return &crashFile{File: f, before: c.before}, nil
}

type crashFile struct {
	vfs.File
	before func(what string)
}

func (f *crashFile) Write(b []byte) (int, error) {
	f.before("write")
	return f.File.Write(b)
}

func (f *crashFile) WriteAt(b []byte, offset int64) (int, error) {
	f.before("write at")
	return f.File.WriteAt(b, offset)
}

func (f *crashFile) Sync() error {
	f.before("sync")
	return f.File.Sync()
}

func (f *crashFile) SyncData() error {
	f.before("sync data")
	return f.File.SyncData()
}

func (f *crashFile) SyncTo(length int64) (bool, error) {
	f.before("sync to")
	return f.File.SyncTo(length)
}
