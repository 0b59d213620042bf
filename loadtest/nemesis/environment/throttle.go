//go:build linux

package environment

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// throttle is a control group that limits how many writes a second a process may make to its disk. It supports control groups of
// version 1, with a blkio hierarchy, and of version 2.
type throttle struct {
	dir  string // Empty: the machine has neither version.
	file string
	line string // The format of a line with a device and a limit.
	none string // The limit that means no limit.
}

// newThrottle finds out which version of control groups the machine has. It makes nothing yet.
func newThrottle(name string) *throttle {
	text, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		return &throttle{}
	}
	var two string
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		if len(words) < 4 {
			continue
		}
		switch {
		case words[2] == "cgroup" && strings.Contains(","+words[3]+",", ",blkio,"):
			return &throttle{filepath.Join(words[1], name), "blkio.throttle.write_iops_device", "%s %s", "0"}
		case words[2] == "cgroup2":
			two = words[1]
		}
	}
	controllers, err := os.ReadFile(filepath.Join(two, "cgroup.controllers"))
	if two == "" || err != nil || !strings.Contains(" "+strings.TrimSpace(string(controllers))+" ", " io ") {
		return &throttle{}
	}
	return &throttle{filepath.Join(two, name), "io.max", "%s wiops=%s", "max"}
}

// CanThrottle reports whether writes can be slowed down here.
func (n *Node) CanThrottle() bool { return n.cgroup.dir != "" }

// Throttle limits the node's process to this many writes a second, until Unthrottle. It is no error when the process has ended
// meanwhile because of another fault.
func (n *Node) Throttle(writes int) error {
	t := n.cgroup
	if t.dir == "" {
		return errors.New("no control group for block devices")
	}
	if err := os.MkdirAll(t.dir, 0o755); err != nil {
		return err
	}
	if t.file == "io.max" { // Version 2 must be told to give children a controller; that may have happened.
		_ = os.WriteFile(filepath.Join(filepath.Dir(t.dir), "cgroup.subtree_control"), []byte("+io"), 0o600)
	}
	device, err := n.Disk.device()
	if err != nil {
		return err
	}
	if err := t.write(t.file, fmt.Sprintf(t.line, device, strconv.Itoa(writes))); err != nil {
		return err
	}
	err = t.write("cgroup.procs", strconv.Itoa(n.Pid()))
	if errors.Is(err, syscall.ESRCH) {
		return nil
	}
	return err
}

// Unthrottle ends a Throttle.
func (n *Node) Unthrottle() { n.cgroup.free(n.Disk) }

func (t *throttle) free(d *Disk) {
	if device, err := d.device(); err == nil && t.dir != "" {
		_ = t.write(t.file, fmt.Sprintf(t.line, device, t.none)) // It is no error when no limit was set.
	}
}

// remove removes the control group, which exists only after Throttle. REQUIRES: no process is in it.
func (t *throttle) remove() {
	if t.dir != "" {
		_ = os.Remove(t.dir)
	}
}

func (t *throttle) write(file, text string) error {
	return os.WriteFile(filepath.Join(t.dir, file), []byte(text), 0o600)
}
