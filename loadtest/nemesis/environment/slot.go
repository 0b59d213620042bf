//go:build linux

package environment

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	// root is the same for every run on a machine, whatever its temporary directory is, because names of interfaces are unique on
	// the machine as well. It does not contain the name gavel: whoever ends stray processes by that name must not end these.
	root = "/var/tmp/nemesis"
	// slots is how many runs one machine can make at the same time. BOUND: the number is the third byte of the addresses.
	slots = 100
)

// slot is the right to use a set of names: namespaces, interfaces, addresses, directories. INVARIANT: the process that holds the
// lock of a slot is its only user, so whatever has its names when it is locked was left by a run that was killed.
type slot struct {
	number int
	dir    string
	lock   *os.File
}

// acquireSlot locks a free slot and removes what an earlier run left in it.
func acquireSlot() (*slot, error) {
	if err := os.MkdirAll(root, 0o700); err != nil {
		return nil, err
	}
	for number := range slots {
		lock, err := os.OpenFile(filepath.Join(root, strconv.Itoa(number)+".lock"), os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			return nil, err
		}
		if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
			_ = lock.Close() // Another run has this slot.
			continue
		}
		s := &slot{number: number, dir: filepath.Join(root, strconv.Itoa(number)), lock: lock}
		if err := s.clean(); err != nil {
			return nil, errors.Join(fmt.Errorf("slot %d was left by a killed run and cannot be cleaned: %w", number, err), s.release())
		}
		return s, nil
	}
	return nil, fmt.Errorf("all %d slots under %s are in use", slots, root)
}

func (s *slot) release() error { return s.lock.Close() }

func (s *slot) name() string           { return fmt.Sprintf("gvn%d", s.number) }
func (s *slot) bridge() string         { return s.name() + "br" }
func (s *slot) namespace(i int) string { return fmt.Sprintf("%s-n%d", s.name(), i+1) }
func (s *slot) veth(i int) string      { return fmt.Sprintf("%sv%d", s.name(), i+1) }

// clean removes everything that has the slot's names. It is no error when nothing has.
func (s *slot) clean() error {
	mounts, err := mountsBelow(s.dir)
	if err != nil {
		return err
	}
	for _, mount := range mounts {
		_ = thaw(mount) // A process that waits for a frozen disk could not end. Mostly no disk is frozen.
	}
	if err := s.killAll(); err != nil {
		return err
	}
	for _, mount := range mounts {
		if err := unmount(mount); err != nil {
			return err
		}
	}
	listed, err := run("ip", "netns", "list")
	if err != nil {
		return err
	}
	var all []error
	for _, namespace := range s.own(listed) {
		_, err := run("ip", "netns", "del", namespace)
		all = append(all, err)
	}
	return errors.Join(append(all, s.unlink(), os.RemoveAll(s.dir))...)
}

// unlink removes the slot's interfaces. The kernel removes those of a namespace together with it, but some time after ip has
// returned, so they are removed here; it is no error when the kernel was faster.
func (s *slot) unlink() error {
	for deadline := time.Now().Add(endMax); ; time.Sleep(20 * time.Millisecond) {
		bridges, err := filepath.Glob("/sys/class/net/" + s.bridge())
		if err != nil {
			return err
		}
		veths, err := filepath.Glob("/sys/class/net/" + s.name() + "v[0-9]*")
		if err != nil {
			return err
		}
		left := slices.Concat(bridges, veths)
		if len(left) == 0 {
			return nil
		}
		for _, path := range left {
			_, err = run("ip", "link", "del", filepath.Base(path))
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%d interfaces of %s cannot be removed: %w", len(left), s.name(), err)
		}
	}
}

// own returns the slot's namespaces among those that ip lists, a name and perhaps an id on each line.
func (s *slot) own(listed string) []string {
	var mine []string
	for line := range strings.Lines(listed) {
		if name, _, _ := strings.Cut(strings.TrimSpace(line), " "); strings.HasPrefix(name, s.name()+"-n") {
			mine = append(mine, name)
		}
	}
	return mine
}

// killAll kills the processes in the slot's namespaces, which runs of this slot started, and waits until they have ended.
func (s *slot) killAll() error {
	for deadline := time.Now().Add(endMax); ; time.Sleep(20 * time.Millisecond) {
		listed, err := run("ip", "netns", "list")
		if err != nil {
			return err
		}
		left := 0
		for _, namespace := range s.own(listed) {
			pids, err := run("ip", "netns", "pids", namespace)
			if err != nil {
				return err
			}
			for text := range strings.FieldsSeq(pids) {
				if pid, err := strconv.Atoi(text); err == nil && pid > 1 {
					left++
					_ = syscall.Kill(pid, syscall.SIGKILL) // It may have ended already; the next round shows that.
				}
			}
		}
		if left == 0 {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%d processes in the namespaces of %s do not end", left, s.name())
		}
	}
}

// mountsBelow lists the mount points below a directory, innermost first.
func mountsBelow(dir string) ([]string, error) {
	text, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		return nil, err
	}
	var mounts []string
	for line := range strings.Lines(string(text)) {
		if words := strings.Fields(line); len(words) > 1 && strings.HasPrefix(words[1], dir+"/") {
			mounts = append([]string{words[1]}, mounts...)
		}
	}
	return mounts, nil
}
