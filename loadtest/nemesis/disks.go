package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// power cuts the power of nodes: their disks forget what was not synced, their processes are gone.
func (f *force) power(nodes []int) error {
	errs := f.each(nodes, func(n int) error {
		f.keeper.hold(n, "power cut")
		return errors.Join(f.w.Nodes[n].Disk.Cut(), f.w.Nodes[n].Kill(), f.w.Nodes[n].Disk.Restore())
	})
	f.last(f.span(0.1, 5))
	return errors.Join(errs, f.each(nodes, f.keeper.letGo))
}

// freeze hangs a disk. A node whose writes hang longer than its watchdog's patience ends itself, as it should; one whose
// writes hang shorter goes on, and sells from memory meanwhile.
func (f *force) freeze(node int, length time.Duration, ends bool) error {
	if ends {
		f.keeper.hit(node, "frozen disk")
		f.keeper.excuse(node, length+graceAfter, hangs)
		defer f.keeper.over(node)
	}
	err := f.w.Nodes[node].Disk.Freeze()
	f.last(length)
	return errors.Join(err, f.w.Nodes[node].Disk.Thaw())
}

func (f *force) freezeLong(node int) error { return f.freeze(node, f.span(8, 12), true) }

// slow lets a disk do few writes in a second.
func (f *force) slow(node int) error {
	if !f.w.Nodes[node].CanThrottle() {
		return errSkip
	}
	writes := 20 + f.r.IntN(80)
	f.target += fmt.Sprintf(", %d writes/s", writes)
	f.keeper.hit(node, "slow disk") // A write that queues for more than the watchdog's patience ends the process.
	length := f.span(5, 20)
	f.keeper.excuse(node, length+graceAfter, hangs)
	err := f.w.Nodes[node].Throttle(writes)
	f.last(length)
	f.w.Nodes[node].Unthrottle()
	f.keeper.over(node)
	return err
}

// fullUnseen is how long after its disk filled up a node may end because it had not seen that: a second until it looks, one for its
// last words, one because this machine is slow.
const fullUnseen = 3 * time.Second

// full fills a disk and frees it again. The node is not down: it goes on to answer auctions. The disk fills within less than the
// second after which the node looks, so a write may fail in that second, and that ends the process. Once it has looked nothing of it
// may meet the full disk, nor may the process that is started in its place: any later end is a finding.
func (f *force) full(node int) error {
	length := f.span(4, 15)
	f.keeper.excuse(node, fullUnseen, fails) // While it fills up, and afterwards.
	err := f.w.Nodes[node].Disk.Fill(int64(f.r.IntN(1 << 20)))
	f.keeper.excuse(node, fullUnseen, fails)
	f.last(length)
	return errors.Join(err, f.w.Nodes[node].Disk.Free())
}

// wipe replaces a node's disk by an empty one. The node comes back under its name and has to be a full member again
// before anything else happens: two wipes in a row would be the loss of two disks.
func (f *force) wipe() error {
	node := f.some(1)[0]
	f.keeper.hold(node, "wiped disk")
	err := errors.Join(f.w.Nodes[node].Kill(), f.w.Nodes[node].Disk.Wipe())
	f.last(f.span(0.1, 5))
	// Until it has joined, the one that is asked may still speak of the node that lost its disk.
	err = errors.Join(err, f.keeper.letGo(node), f.recovered(context.WithoutCancel(f.ctx), "wipe"))
	return errors.Join(err, f.allVote(f.ctx))
}
