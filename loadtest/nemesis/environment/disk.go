//go:build linux

package environment

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
	"unsafe"
)

// Disk is an ext4 file system in a file, mounted over a loop device.
type Disk struct {
	Mount string // The mount point; Data is below it.
	image string
	bytes int64
}

// Data is the directory for the node's files. It is below the mount point, so that the directory is missing, not empty, when the disk
// is not mounted.
func (d *Disk) Data() string { return filepath.Join(d.Mount, "data") }

func newDisk(mount string, bytes int64) (*Disk, error) {
	d := &Disk{Mount: mount, image: mount + ".img", bytes: bytes}
	if err := os.MkdirAll(mount, 0o700); err != nil {
		return nil, err
	}
	return d, d.format()
}

func (d *Disk) format() error {
	if err := errors.Join(os.RemoveAll(d.image), os.WriteFile(d.image, nil, 0o600), os.Truncate(d.image, d.bytes)); err != nil {
		return err
	}
	// No blocks are reserved, so that a full disk is full for root as well. Lazy initialization is off, because it writes in the background.
	if _, err := run("mkfs.ext4", "-q", "-F", "-m", "0", "-E", "lazy_itable_init=0,lazy_journal_init=0", d.image); err != nil {
		return err
	}
	if err := d.mount(); err != nil {
		return err
	}
	return os.Mkdir(d.Data(), 0o700)
}

func (d *Disk) mount() error {
	_, err := run("mount", "-o", "loop,noatime", d.image, d.Mount)
	return err
}

// CutPower cuts the power of the disk: what was not synced is lost, and every later access fails. Afterwards the process has to be
// killed and Restore called.
func (d *Disk) CutPower() error {
	const shutdown, withoutFlush = 0x8004587d, 2 // EXT4_IOC_SHUTDOWN, EXT4_GOING_FLAGS_NOLOGFLUSH.
	flags := uint32(withoutFlush)
	return ioctl(d.Mount, shutdown, uintptr(unsafe.Pointer(&flags)))
}

// Restore mounts the disk after a power cut; the kernel replays its journal. REQUIRES: no process has a file on it open.
func (d *Disk) Restore() error {
	if err := unmount(d.Mount); err != nil {
		return err
	}
	return d.mount()
}

// Wipe replaces the disk by an empty one. REQUIRES: no process has a file on it open.
func (d *Disk) Wipe() error {
	if err := unmount(d.Mount); err != nil {
		return err
	}
	return d.format()
}

const (
	fifreeze = 0xc0045877
	fithaw   = 0xc0045878
)

// Freeze makes every write and every sync hang until Thaw.
func (d *Disk) Freeze() error { return ioctl(d.Mount, fifreeze, 0) }

// Thaw ends a Freeze.
func (d *Disk) Thaw() error { return thaw(d.Mount) }

func thaw(mount string) error { return ioctl(mount, fithaw, 0) }

// Fill fills the disk with a file until at most this many bytes are free. Free removes the file.
func (d *Disk) Fill(leave int64) error {
	var stat syscall.Statfs_t
	if err := syscall.Statfs(d.Mount, &stat); err != nil {
		return err
	}
	f, err := os.OpenFile(d.filler(), os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // Only the blocks matter, not the content.
	size := max(int64(stat.Bavail)*stat.Bsize-leave, 0)
	err = syscall.Fallocate(int(f.Fd()), 0, 0, size)
	if errors.Is(err, syscall.ENOSPC) { // The node wrote meanwhile, so the disk is full.
		return nil
	}
	return err
}

// Free ends a Fill.
func (d *Disk) Free() error { return os.Remove(d.filler()) }

func (d *Disk) filler() string { return filepath.Join(d.Mount, "filler") }

// device returns the block device of the disk as major:minor.
func (d *Disk) device() (string, error) {
	var stat syscall.Stat_t
	if err := syscall.Stat(d.Mount, &stat); err != nil {
		return "", err
	}
	return fmt.Sprintf("%d:%d", stat.Dev>>8&0xfff, stat.Dev&0xff|stat.Dev>>12&0xfff00), nil
}

// ioctl makes an ioctl on a directory.
func ioctl(dir string, request, argument uintptr) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // Nothing was written through it.
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), request, argument); errno != 0 {
		return fmt.Errorf("ioctl %#x on %s: %w", request, dir, errno)
	}
	return nil
}

// unmount unmounts a disk. It waits up to 10 s until the last file is closed, which happens shortly after a killed process has ended, and
// up to 10 s until the loop device is free: mounting the image a second time while the file system is alive would damage it.
func unmount(mount string) error {
	var err error
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if _, err = run("umount", mount); err == nil {
			break
		}
		if time.Now().After(deadline) {
			return err
		}
	}
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		used, err := hasLoopDevice(mount + ".img")
		if err != nil || !used {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%s is unmounted, but a loop device still uses its image, because another mount namespace has it mounted", mount)
		}
	}
}

// hasLoopDevice reports whether a loop device uses a file.
func hasLoopDevice(image string) (bool, error) {
	files, err := filepath.Glob("/sys/block/loop*/loop/backing_file")
	if err != nil {
		return false, err
	}
	for _, name := range files {
		if text, err := os.ReadFile(name); err == nil && strings.TrimSpace(string(text)) == image {
			return true, nil
		}
	}
	return false, nil
}
