//go:build linux

// Package environment builds the environment of a cluster under test on one Linux machine: every node has a network namespace of its own,
// all of them are on one bridge, and each has an ext4 file system in a file as its disk.
//
// Faults are real ones: a cut link drops packets, a power cut makes the file system lose what was not synced, a hung disk is a frozen
// file system. Nothing else on the machine is affected: the name of everything that is made here contains the number of a slot, which
// is locked for the run, and a run first removes what an earlier run that crashed left in its slot.
//
// The package needs root, network namespaces and loop devices. Check says what is missing.
package environment

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// Options say what to build.
type Options struct {
	Nodes     int    // 1 to 9.
	Binary    string // The gavel binary.
	LogDir    string // The directory for the output of the processes.
	DiskBytes int64  // The size of a disk in bytes. Its file is sparse.
	// Args returns the command line of node i (from 0); Env is added to the environment of each node.
	Args func(w *Environment, i int) []string
	Env  []string
}

// Environment is nodes, their network and their disks. Several goroutines may use its parts at the same time, but not inject the same
// kind of fault into the same node.
type Environment struct {
	Nodes []*Node
	Net   *Network
	// Spare is a disk of the same kind as the nodes', below the same directory, that no node uses and no fault is injected into. When it
	// is slow, the machine is.
	Spare *Disk
	slot  *slot
}

// spareBytes is the size of the spare disk: enough for the journal of an ext4 and a small file.
const spareBytes = 64 << 20

// New builds the environment without starting a process. REQUIRES: Check has returned nil on this machine.
func New(o Options) (*Environment, error) {
	s, err := acquireSlot()
	if err != nil {
		return nil, err
	}
	w := &Environment{slot: s}
	if err := w.build(o); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return w, nil
}

func (w *Environment) build(o Options) error {
	if err := os.MkdirAll(w.slot.dir, 0o700); err != nil {
		return err
	}
	var err error
	if w.Net, err = newNetwork(w.slot, o.Nodes); err != nil {
		return err
	}
	if w.Spare, err = newDisk(filepath.Join(w.slot.dir, "spare"), spareBytes); err != nil {
		return err
	}
	for i := range o.Nodes {
		id := fmt.Sprintf("n%d", i+1)
		disk, err := newDisk(filepath.Join(w.slot.dir, id), o.DiskBytes)
		if err != nil {
			return err
		}
		n := &Node{
			ID: id, IP: w.Net.IP(i), Disk: disk, Log: filepath.Join(o.LogDir, id+".log"),
			binary: o.Binary, namespace: w.slot.namespace(i), cgroup: newThrottle(w.slot.name() + "-" + id),
		}
		n.AuctionURL, n.ManageURL = "http://"+n.IP+":8080", "http://"+n.IP+":8081"
		n.env = o.Env
		w.Nodes = append(w.Nodes, n)
	}
	for i, n := range w.Nodes {
		n.args = func() []string { return o.Args(w, i) }
	}
	return nil
}

// Close kills every process and removes the environment from the machine. A second Close does nothing.
func (w *Environment) Close() error {
	if w.slot == nil {
		return nil
	}
	var all []error
	for _, n := range w.Nodes {
		_ = n.Disk.Thaw() // A process that waits for a frozen disk cannot end. Mostly no disk is frozen.
		n.cgroup.free(n.Disk)
		all = append(all, n.Kill())
	}
	for _, n := range w.Nodes {
		n.cgroup.remove()
	}
	all = append(all, w.slot.clean(), w.slot.release())
	w.slot = nil
	return errors.Join(all...)
}

// endMax is how long a process may take to end after SIGKILL. BOUND: without it a process that is stuck in the kernel would block the
// run forever.
const endMax = 30 * time.Second
