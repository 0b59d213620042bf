package raftstore_test

import (
	"errors"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/gavel-ads/gavel/raftstore"
)

// brokenDisk blocks or fails the syncs of files whose names end with a given suffix.
type brokenDisk struct {
	vfs.FS
	suffix string
	hold   atomic.Pointer[chan struct{}]
	fail   atomic.Bool
}

var errDisk = errors.New("input/output error")

func (d *brokenDisk) wrap(name string, f vfs.File, err error) (vfs.File, error) {
	if err != nil || !strings.HasSuffix(name, d.suffix) {
		return f, err
	}
	return brokenFile{f, d}, nil
}

func (d *brokenDisk) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := d.FS.Create(name, c)
	return d.wrap(name, f, err)
}

func (d *brokenDisk) OpenReadWrite(name string, c vfs.DiskWriteCategory, o ...vfs.OpenOption) (vfs.File, error) {
	f, err := d.FS.OpenReadWrite(name, c, o...)
	return d.wrap(name, f, err)
}

type brokenFile struct {
	vfs.File
	disk *brokenDisk
}

func (f brokenFile) sync(really func() error) error {
	if hold := f.disk.hold.Load(); hold != nil {
		<-*hold
	}
	if f.disk.fail.Load() {
		return errDisk
	}
	return really()
}

func (f brokenFile) Sync() error     { return f.sync(f.File.Sync) }
func (f brokenFile) SyncData() error { return f.sync(f.File.SyncData) }

// A log write that hangs ends the process after the limit, whether the log or the guard hangs; a shorter stall does
// not. Nothing softer frees a group whose leader's disk hangs (hashicorp/raft#503).
func TestStalledDiskEndsTheProcess(t *testing.T) {
	for _, suffix := range []string{".log", "guard"} {
		for stall, wantExit := range map[time.Duration]bool{4 * time.Second: false, 11 * time.Second: true} {
			t.Run(suffix+" "+stall.String(), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					disk := &brokenDisk{FS: vfs.NewMem(), suffix: suffix}
					c := config(disk, 1)
					began := time.Now()
					var exited atomic.Int64
					c.Exit = func(code int) {
						if code != 70 {
							t.Errorf("exit code %d", code)
						}
						exited.Store(int64(time.Since(began)))
						runtime.Goexit() // Ends the watchdog's goroutine.
					}
					s := open(t, c)
					propose(t, s.Group(1), "a")
					time.Sleep(time.Second)
					release := make(chan struct{})
					disk.hold.Store(&release)
					began = time.Now()
					var caller sync.WaitGroup
					caller.Go(func() { propose(t, s.Group(1), "a") })
					time.Sleep(stall)
					if got := s.Stats().OldestCall; !wantExit && got < 3*time.Second {
						t.Errorf("the oldest call is said to be %s old", got)
					}
					disk.hold.Store(nil)
					close(release)
					caller.Wait()
					after := time.Duration(exited.Load())
					if wantExit && (after < 5*time.Second || after > 6*time.Second) || !wantExit && after != 0 {
						t.Errorf("exit after %s", after)
					}
					closeStore(t, s)
				})
			})
		}
	}
}

// A failed sync ends the process at once, and the command is never acknowledged. Pebble's goroutines stay behind as
// they would in a dead process, so this runs outside a bubble and closes nothing.
func TestFailedSyncEndsTheProcess(t *testing.T) {
	for _, suffix := range []string{".log", "guard"} {
		t.Run(suffix, func(t *testing.T) {
			disk := &brokenDisk{FS: vfs.NewMem(), suffix: suffix}
			c := config(disk, 1)
			exited := make(chan int, 1)
			c.Exit = func(code int) { exited <- code }
			s := open(t, c)
			propose(t, s.Group(1), "a")
			disk.fail.Store(true)
			acked := make(chan error, 1)
			go func() {
				_, err := s.Group(1).Propose(t.Context(), []byte("a"))
				acked <- err
			}()
			select {
			case <-exited:
			case err := <-acked:
				if !errors.Is(err, raftstore.ErrUnknown) {
					t.Errorf("answered %v before the exit", err)
				}
				<-exited
			}
		})
	}
}
