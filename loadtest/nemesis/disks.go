package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// power cuts the power of nodes: their disks lose what was not synced, and their processes are killed.
func (f *activeFault) power(nodes []int) error {
	errs := f.each(nodes, func(n int) error {
		f.supervisor.acquire(n, "power cut")
		return errors.Join(f.w.Nodes[n].Disk.CutPower(), f.w.Nodes[n].Kill(), f.w.Nodes[n].Disk.Restore())
	})
	f.sustain(f.randomDuration(0.1, 5))
	return errors.Join(errs, f.each(nodes, f.supervisor.release))
}

// freeze makes all writes and syncs of a disk hang. A node whose writes hang longer than its watchdog allows has to end itself, which ends
// says; a node whose writes hang for a shorter time goes on and answers auctions from memory meanwhile.
func (f *activeFault) freeze(node int, length time.Duration, ends bool) error {
	if ends {
		f.supervisor.beginDisturbance(node, "frozen disk")
		f.supervisor.allowExit(node, length+exitAllowedAfter, hangReasons)
		defer f.supervisor.endDisturbance(node)
	}
	err := f.w.Nodes[node].Disk.Freeze()
	f.sustain(length)
	return errors.Join(err, f.w.Nodes[node].Disk.Thaw())
}

// freezeLong makes a disk hang for longer than the watchdog allows.
func (f *activeFault) freezeLong(node int) error {
	return f.freeze(node, f.randomDuration(8, 12), true)
}

// slow limits a disk to 20 to 100 writes a second.
func (f *activeFault) slow(node int) error {
	if !f.w.Nodes[node].CanThrottle() {
		return errSkip
	}
	writes := 20 + f.r.IntN(80)
	f.target += fmt.Sprintf(", %d writes/s", writes)
	f.supervisor.beginDisturbance(node, "slow disk") // A write that waits longer than the watchdog allows ends the process.
	length := f.randomDuration(5, 20)
	f.supervisor.allowExit(node, length+exitAllowedAfter, hangReasons)
	err := f.w.Nodes[node].Throttle(writes)
	f.sustain(length)
	f.w.Nodes[node].Unthrottle()
	f.supervisor.endDisturbance(node)
	return err
}

// diskFullNoticeMax is how long after its disk filled up a node may end because it had not noticed that: one second until it looks, one
// to write its log, one because this machine is slow.
const diskFullNoticeMax = 3 * time.Second

// full fills a disk and frees it again. The node is not down: it has to answer auctions. The disk fills within less than the second after
// which the node looks, so a write may fail in that second, and that ends the process. After it has looked, no write of it may fail on the
// full disk, nor may one of the process that is started in its place: any later exit is a finding.
func (f *activeFault) full(node int) error {
	length := f.randomDuration(4, 15)
	f.supervisor.allowExit(node, diskFullNoticeMax, failureReasons) // This covers the filling, the next call the time after it.
	err := f.w.Nodes[node].Disk.Fill(int64(f.r.IntN(1 << 20)))
	f.supervisor.allowExit(node, diskFullNoticeMax, failureReasons)
	f.sustain(length)
	return errors.Join(err, f.w.Nodes[node].Disk.Free())
}

// wipe replaces the disk of a node by an empty one. The node starts with the same id and has to be a voter again before the next fault:
// two wipes in a row would be the loss of two disks.
func (f *activeFault) wipe() error {
	node := f.randomNodes(1)[0]
	f.supervisor.acquire(node, "wiped disk")
	err := errors.Join(f.w.Nodes[node].Kill(), f.w.Nodes[node].Disk.Wipe())
	f.sustain(f.randomDuration(0.1, 5))
	// Until the node has joined, the node that is asked may still report the state from before the loss, so readiness is awaited first.
	err = errors.Join(err, f.supervisor.release(node), f.awaitRecovery(context.WithoutCancel(f.ctx), "wipe"))
	return errors.Join(err, f.awaitAllVoters(f.ctx))
}
