package raftstore

import (
	"errors"
	"io"
	"log/slog"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// ballastWanted is the size of the ballast, at most half of the reserve.
func (p *space) ballastWanted() uint64 {
	return min(uint64(max(p.store.c.Ballast, 0)), p.last.Reserve/2)
}

func (p *space) ballastPath() string { return p.store.c.FS.PathJoin(p.store.c.Dir, ballastName) }

func (p *space) ballast() uint64 {
	info, err := p.store.c.FS.Stat(p.ballastPath())
	if err != nil {
		return 0
	}
	return uint64(info.Size())
}

// dropBallast gives the space of the ballast back. The next measurement sees it.
func (p *space) dropBallast() {
	if p.last.Ballast == 0 {
		return
	}
	c := &p.store.c
	if err := c.FS.Remove(p.ballastPath()); err != nil {
		c.Logger.Error("the ballast file cannot be deleted", slog.Any("err", err))
		return
	}
	c.Logger.Warn("the ballast file is deleted to make room", slog.Uint64("bytes", p.last.Ballast))
	p.last.Free += p.last.Ballast
	p.last.Ballast = 0
}

// makeBallast writes the ballast anew. A file of another size is of another configuration, or of a crash.
func (p *space) makeBallast(want uint64) {
	c := &p.store.c
	if p.last.Ballast != 0 {
		if err := c.FS.Remove(p.ballastPath()); err != nil {
			c.Logger.Warn("the ballast file cannot be replaced", slog.Any("err", err))
			return
		}
		p.last.Ballast = 0
	}
	if want == 0 {
		return
	}
	if err := writeBallast(c.FS, p.ballastPath(), int64(want)); err != nil {
		c.Logger.Warn("the ballast file cannot be written", slog.Any("err", errors.Join(err, c.FS.Remove(p.ballastPath()))))
		return
	}
	p.last.Ballast = want
	p.last.Free -= min(p.last.Free, want)
}

// writeBallast takes blocks from the file system for good. Where blocks cannot be preallocated they are written.
func writeBallast(fs vfs.FS, path string, size int64) error {
	f, err := fs.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	if err = f.Preallocate(0, size); err == nil {
		_, err = f.WriteAt([]byte{0}, size-1) // The size says that it is complete.
	} else if !vfs.IsNoSpaceError(err) {
		_, err = io.CopyN(f, zeros{}, size)
	}
	return errors.Join(err, f.Sync(), f.Close())
}

// zeros is an endless stream.
type zeros struct{}

func (zeros) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}
