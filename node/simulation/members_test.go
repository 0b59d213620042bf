package simulation_test

import (
	"context"
	"time"

	"github.com/gavel-ads/gavel/raftstore"
)

// join starts a node with an empty disk, which joins.
func (w *environment) join() {
	for i, n := range w.nodes {
		n.mu.Lock()
		fresh := !n.joined
		n.mu.Unlock()
		if fresh {
			w.start(i)
			return
		}
	}
}

// change makes a membership change, one at a time. It repeats try until that succeeds or the simulation ends, then calls
// then.
func (w *environment) change(try func() bool, then func()) {
	if !w.changing.CompareAndSwap(false, true) {
		return
	}
	w.others.Go(func() {
		defer w.changing.Store(false)
		for !try() {
			select {
			case <-w.finished:
				return
			case <-time.After(time.Second):
			}
		}
		then()
	})
}

// remove removes a node from the cluster if more than three are members, and stops it.
func (w *environment) remove(node int) {
	if len(w.members()) <= 3 {
		return
	}
	w.change(func() bool {
		return w.callOther(node, func(ctx context.Context, s *raftstore.Store) error { return s.Remove(ctx, w.c.Nodes[node].ID) })
	}, func() {
		n := w.nodes[node]
		n.mu.Lock()
		n.removed = true
		starting := n.busy && n.store == nil
		n.mu.Unlock()
		if starting { // It was removed before it was admitted and would wait for ever, so its process is killed.
			w.crash(node)
		} else {
			w.shutdown(node)
		}
		w.count("removed")
	})
}

// admit admits a removed node again, with its disk or with an empty one.
func (w *environment) admit() {
	for i, n := range w.nodes {
		n.mu.Lock()
		down := n.removed && n.store == nil && !n.busy
		n.mu.Unlock()
		if !down {
			continue
		}
		wiped := w.rng.IntN(2) == 0
		w.change(func() bool {
			return w.callOther(i, func(ctx context.Context, s *raftstore.Store) error { return s.Admit(ctx, w.c.Nodes[i].ID, "") })
		}, func() {
			w.crash(i) // It does not run; this discards what it had not synced.
			if wiped {
				w.c.Nodes[i].Wipe()
			}
			n.mu.Lock()
			n.removed = false
			n.mu.Unlock()
			w.start(i)
			w.count("admitted again")
		})
		return
	}
}

// wipe takes the disk of a node away, if at least three vote: of two voters the other one is no majority. Three do not survive
// the loss of two disks, so no other disk is taken, and no member removed, before the node has joined again and caught up.
func (w *environment) wipe(node int) {
	n := w.nodes[node]
	if w.voters() < 3 || node == w.learner {
		return
	}
	down := false
	w.change(func() bool {
		if !down {
			n.mu.Lock()
			n.wiping = true
			n.mu.Unlock()
			w.crash(node)
			n.mu.Lock()
			if n.busy { // The killed run has not ended yet.
				n.mu.Unlock()
				return false
			}
			w.c.Nodes[node].Wipe()
			n.wiping, down = false, true
			n.mu.Unlock()
			w.start(node)
		}
		return w.rejoined(node)
	}, func() { w.count("wiped and back") })
}

// voters returns the number of voters of the group with the fewest, or 0 if it is not known. It reads behind a barrier,
// because a node that was away has an old configuration.
func (w *environment) voters() int {
	i := w.leader(1)
	if i < 0 {
		return 0
	}
	store, _, _ := w.running(i)
	if store == nil {
		return 0
	}
	fewest := len(w.nodes)
	for _, id := range w.raftGroups() {
		members, known := membersOf(store.Group(id))
		if !known {
			return 0
		}
		fewest = min(fewest, voting(members))
	}
	return fewest
}

// membersOf returns the current members of a group, or false if they cannot be read.
func membersOf(g *raftstore.Group) ([]raftstore.Member, bool) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if g.ReadBarrier(ctx) != nil {
		return nil, false
	}
	return g.Members(), true
}

func voting(members []raftstore.Member) (n int) {
	for _, m := range members {
		if m.Voter {
			n++
		}
	}
	return n
}

// rejoined reports whether a node is a member of every group in the newest configuration, with one incarnation that votes, or
// that does not because VotersMax others do.
func (w *environment) rejoined(node int) bool {
	store, _, run := w.running(node)
	if store == nil {
		return false
	}
	for _, id := range w.raftGroups() {
		members, known := membersOf(store.Group(id))
		if !known {
			return false
		}
		incarnations, votes := 0, false
		for _, m := range members {
			if m.ID == w.c.Nodes[node].ID {
				incarnations++
				votes = m.Voter
			}
		}
		if incarnations != 1 || !votes && voting(members) != raftstore.VotersMax {
			return false
		}
	}
	return w.c.SameGeneration(node, run)
}

// callOther calls a function with the store of another node than node, and reports whether it succeeded.
func (w *environment) callOther(node int, call func(context.Context, *raftstore.Store) error) bool {
	for i := range w.nodes {
		if store, _, run := w.running(i); store != nil && i != node {
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
			err := call(ctx, store)
			cancel()
			return err == nil && w.c.SameGeneration(i, run)
		}
	}
	return false
}
