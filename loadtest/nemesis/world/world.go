//go:build linux

// Package world is a small data centre on one Linux machine: every node in a network namespace of its own, all of them on
// one bridge, each with an ext4 file system in a file as its disk.
//
// A fault is then a fact and no pretence: a cut is a dropped packet, a power cut is a file system that forgets what it
// was not told to keep, a hung disk is a frozen one. The machine itself is left alone: everything made here carries the
// number of a slot that is locked for the run, and taking a slot first removes what a run that crashed left in it.
//
// It needs root, network namespaces and loop devices. Check says what is missing.
package world

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
	LogDir    string // Where the output of the processes goes.
	DiskBytes int64  // Size of a disk. The file is sparse.
	// Args and Env are what node i (from 0) is started with, apart from what the world knows itself.
	Args func(w *World, i int) []string
	Env  []string
}

// World is nodes, their network and their disks. Its parts may be used by several goroutines; two faults of the same
// kind on the same node at the same time may not.
type World struct {
	Nodes []*Node
	Net   *Network
	// Spare is a disk of the same kind as the nodes', below the same directory, that no node uses and no fault is for: what is
	// slow on it is slow by the machine's doing.
	Spare *Disk
	slot  *slot
}

// spareBytes is the size of the spare disk: enough for the journal of an ext4 and a small file.
const spareBytes = 64 << 20

// New builds the world without starting a process.
func New(o Options) (*World, error) {
	s, err := takeSlot()
	if err != nil {
		return nil, err
	}
	w := &World{slot: s}
	if err := w.build(o); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return w, nil
}

func (w *World) build(o Options) error {
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

// Close ends every process and removes the world from the machine. A second Close does nothing.
func (w *World) Close() error {
	if w.slot == nil {
		return nil
	}
	var all []error
	for _, n := range w.Nodes {
		_ = n.Disk.Thaw() // A process that waits for a frozen disk cannot die. Mostly it is not frozen.
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

// endMax is how long a process may take to be gone after SIGKILL. BOUND: one that is stuck in the kernel would hold the
// run up for ever.
const endMax = 30 * time.Second
