package raftstore_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"path"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/gavel-ads/gavel/raftstore"
)

// heldReads blocks the second and later reads of a snapshot's state, so that a restore stops in the middle.
type heldReads struct {
	vfs.FS
	hold atomic.Pointer[chan struct{}]
}

func (d *heldReads) Open(name string, o ...vfs.OpenOption) (vfs.File, error) {
	f, err := d.FS.Open(name, o...)
	if err == nil && path.Base(name) == "state" && strings.Contains(name, "snapshots") {
		return &heldFile{File: f, disk: d}, nil
	}
	return f, err
}

type heldFile struct {
	vfs.File
	disk  *heldReads
	reads int
}

func (f *heldFile) Read(b []byte) (int, error) {
	f.reads++
	if hold := f.disk.hold.Load(); hold != nil && f.reads > 1 {
		<-*hold
	}
	return f.File.Read(b)
}

// While a snapshot replaces the state of a follower, no reader gets a part of it: reads and backups are refused, and
// see the whole state afterwards.
func TestNobodyReadsHalfAState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var disks [3]*heldReads
		c := snapshotters(t, 5, func(node int, fs vfs.FS) vfs.FS {
			disks[node] = &heldReads{FS: fs}
			return disks[node]
		})
		follower := fallBehind(t, c)
		configure, release := c.Configure, make(chan struct{})
		c.Configure = func(node int, config *raftstore.Config) {
			configure(node, config)
			if node == follower {
				disks[node].hold.Store(&release)
			}
		}
		if !c.Start(follower, c.Seeds(3)) {
			t.Error("the follower does not start")
		}
		time.Sleep(3 * time.Second) // The restore is in the middle.
		s, _ := c.Store(follower)
		first := binary.BigEndian.AppendUint64([]byte("i"), 1) // Acknowledged, and applied here before the node was stopped.
		look := func() (found bool, err error) {
			err = s.Group(1).Read(func(r raftstore.Reader) error {
				_, found = r.Get(first)
				return nil
			})
			return found, err
		}
		if _, err := look(); !errors.Is(err, raftstore.ErrRestoring) {
			t.Errorf("a read in the middle of a restore: %v", err)
		}
		if _, err := s.Backup(t.Context(), new(bytes.Buffer), raftstore.BackupInfo{Local: true}); !errors.Is(err, raftstore.ErrRestoring) {
			t.Errorf("a backup in the middle of a restore: %v", err)
		}
		for _, d := range disks {
			d.hold.Store(nil)
		}
		close(release)
		time.Sleep(5 * time.Second)
		if found, err := look(); err != nil || !found {
			t.Errorf("a read after the restore: found %v, %v", found, err)
		}
		hasAll(t, c, follower)
		stopAll(c)
	})
}
