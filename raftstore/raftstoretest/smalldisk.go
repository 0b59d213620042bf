package raftstoretest

import (
	"sync/atomic"
	"syscall"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// SmallDisk is a file system with a bound: a write that would need more fails with ENOSPC, as on a real disk. The files
// below Root count, and the bytes that Fill adds for other users of the disk.
type SmallDisk struct {
	vfs.FS
	Root  string
	total atomic.Int64
	other atomic.Int64
	most  atomic.Int64 // Upper bound of the reported free bytes; 0: none.
	full  atomic.Int64 // Writes that failed.
}

// NewSmallDisk limits a file system to total bytes.
func NewSmallDisk(fs vfs.FS, root string, total int64) *SmallDisk {
	d := &SmallDisk{FS: fs, Root: root}
	d.total.Store(total)
	return d
}

// Fill sets how many bytes other users of the disk hold.
func (d *SmallDisk) Fill(bytes int64) { d.other.Store(bytes) }

// FillUpTo sets what other users hold so that free bytes are left.
func (d *SmallDisk) FillUpTo(free int64) { d.other.Store(d.total.Load() - d.held(d.Root) - free) }

// CapFree bounds the free bytes, as if other users took whatever the node frees: a store that starts deletes old files
// of its log at a moment of its own. 0 removes the bound.
func (d *SmallDisk) CapFree(most int64) { d.most.Store(most) }

// Other is the number of bytes that other users hold.
func (d *SmallDisk) Other() int64 { return d.other.Load() }

// Failures counts the writes that found the disk full.
func (d *SmallDisk) Failures() int64 { return d.full.Load() }

func (d *SmallDisk) held(path string) (n int64) {
	names, err := d.FS.List(path)
	if err != nil {
		return 0
	}
	for _, name := range names {
		p := d.FS.PathJoin(path, name)
		if info, err := d.FS.Stat(p); err == nil && info.IsDir() {
			n += d.held(p)
		} else if err == nil {
			n += info.Size()
		}
	}
	return n
}

func (d *SmallDisk) free() int64 {
	free := d.total.Load() - d.other.Load() - d.held(d.Root)
	if most := d.most.Load(); most > 0 {
		return min(free, most)
	}
	return free
}

func (d *SmallDisk) reserve(growth int64) error {
	if growth <= 0 || growth <= d.free() {
		return nil
	}
	d.full.Add(1)
	return syscall.ENOSPC
}

// GetDiskUsage implements vfs.FS, like all below.
func (d *SmallDisk) GetDiskUsage(string) (vfs.DiskUsage, error) {
	total, free := d.total.Load(), max(d.free(), 0)
	return vfs.DiskUsage{AvailBytes: uint64(free), TotalBytes: uint64(total), UsedBytes: uint64(total - free)}, nil
}

// Create makes a file, which counts when it is written.
func (d *SmallDisk) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return d.wrap(d.FS.Create(name, c))
}

// OpenReadWrite opens a file, which counts when it is written.
func (d *SmallDisk) OpenReadWrite(name string, c vfs.DiskWriteCategory, o ...vfs.OpenOption) (vfs.File, error) {
	return d.wrap(d.FS.OpenReadWrite(name, c, o...))
}

// ReuseForWrite takes an old file for a new one.
func (d *SmallDisk) ReuseForWrite(oldname, newname string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return d.wrap(d.FS.ReuseForWrite(oldname, newname, c))
}

func (d *SmallDisk) Unwrap() vfs.FS { return d.FS }

func (d *SmallDisk) wrap(f vfs.File, err error) (vfs.File, error) {
	if err != nil {
		return nil, err
	}
	return &smallFile{File: f, disk: d}, nil
}

type smallFile struct {
	vfs.File
	disk *SmallDisk
	at   int64 // Offset of the next Write.
}

func (f *smallFile) size() int64 {
	info, err := f.Stat()
	if err != nil {
		return 0
	}
	return info.Size()
}

func (f *smallFile) Write(b []byte) (int, error) {
	if err := f.disk.reserve(f.at + int64(len(b)) - f.size()); err != nil {
		return 0, err
	}
	n, err := f.File.Write(b)
	f.at += int64(n)
	return n, err
}

func (f *smallFile) WriteAt(b []byte, offset int64) (int, error) {
	if err := f.disk.reserve(offset + int64(len(b)) - f.size()); err != nil {
		return 0, err
	}
	return f.File.WriteAt(b, offset)
}

func (f *smallFile) Preallocate(offset, length int64) error {
	if err := f.disk.reserve(offset + length - f.size()); err != nil {
		return err
	}
	return f.File.Preallocate(offset, length)
}
