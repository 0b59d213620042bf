package main_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/gavel-ads/gavel/node/nodetest"
)

// TestPowerCut is TestKill on a disk that loses its power at the time of the kill: an ext4 image on a loop device is
// shut down without flushing its journal, so every byte that was not synced is lost. A kill alone tests less, because
// the kernel keeps what the process has written.
//
//	POWER_CUTS=10 go test ./node -run TestPowerCut    as root
func TestPowerCut(t *testing.T) {
	if os.Getenv("POWER_CUTS") == "" {
		t.Skip("POWER_CUTS is not set; it mounts a loop device, as root")
	}
	cuts := number(t, "POWER_CUTS", 10)
	seed := uint64(number(t, "KILL_SEED", int(time.Now().UnixNano()%1_000_000)))
	t.Logf("seed %d, %d power cuts", seed, cuts)
	d := newLoopDisk(t)
	args := append(crashArgs(1), "--disk-reserve=64MiB") // The disk is smaller than the default reserve of a node.
	c := newCrash(t, seed, nodetest.Options{Dir: filepath.Join(d.mount, "data"), Args: args, ReadyTimeout: powerCutReadyMax})
	c.power = d
	c.run(cuts)
}

// powerCutReadyMax is how long a start may take: it reads a disk that has lost its cache, on a machine that does other
// work.
const powerCutReadyMax = 2 * time.Minute

// loopDisk is an ext4 file system in a file.
type loopDisk struct{ image, mount string }

func newLoopDisk(t *testing.T) *loopDisk {
	t.Helper()
	dir := t.TempDir()
	d := &loopDisk{image: filepath.Join(dir, "image"), mount: filepath.Join(dir, "mount")}
	if err := errors.Join(os.Mkdir(d.mount, 0o700), os.WriteFile(d.image, nil, 0o600), os.Truncate(d.image, 1<<30)); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(command("mkfs.ext4", "-q", "-F", d.image), d.attach()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.detach(); err != nil {
			t.Error(err)
		}
	})
	return d
}

func command(name string, args ...string) error {
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s %q: %w: %s", name, args, err, out)
	}
	return nil
}

func (d *loopDisk) attach() error { return command("mount", "-o", "loop", d.image, d.mount) }
func (d *loopDisk) detach() error { return command("umount", d.mount) }

// cut shuts the file system down: EXT4_IOC_SHUTDOWN, _IOR('X', 125, __u32), with EXT4_GOING_FLAGS_NOLOGFLUSH.
func (d *loopDisk) cut() error {
	const shutdown, withoutFlush = 0x8004587d, 2
	dir, err := os.Open(d.mount)
	if err != nil {
		return err
	}
	defer func() { _ = dir.Close() }() // Nothing was written through it.
	flags := uint32(withoutFlush)
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, dir.Fd(), shutdown, uintptr(unsafe.Pointer(&flags))); errno != 0 {
		return fmt.Errorf("cutting the power of %s: %w", d.mount, errno)
	}
	return nil
}

// restore mounts the image again, which replays what the journal holds.
func (d *loopDisk) restore() error { return errors.Join(d.detach(), d.attach()) }
