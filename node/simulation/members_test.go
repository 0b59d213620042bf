package simulation_test

import (
	"context"
	"time"

	"github.com/gavel-ads/gavel/raftstore"
)

// join lets a node with an empty disk join.
func (w *world) join() {
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

// change makes one change of members at a time, and tries until it has succeeded or the simulation ends.
func (w *world) change(try func() bool, then func()) {
	if !w.changing.CompareAndSwap(false, true) {
		return
	}
	w.others.Go(func() {
		defer w.changing.Store(false)
		for !try() {
			select {
			case <-w.over:
				return
			case <-time.After(time.Second):
			}
		}
		then()
	})
}

// remove takes a node out of the cluster, unless few are left. Its process ends when it is out.
func (w *world) remove(node int) {
	if len(w.members()) <= 3 {
		return
	}
	w.change(func() bool {
		return w.ask(node, func(ctx context.Context, s *raftstore.Store) error { return s.Remove(ctx, w.c.Nodes[node].ID) })
	}, func() {
		n := w.nodes[node]
		n.mu.Lock()
		n.retired = true
		starting := n.busy && n.store == nil
		n.mu.Unlock()
		if starting { // It was removed before it was let in, and nobody lets it in now: whoever removed it ends its process.
			w.crash(node)
		} else {
			w.halt(node)
		}
		w.count("removed")
	})
}

// admit lets a node that was removed come back: with what it had, or with an empty disk.
func (w *world) admit() {
	for i, n := range w.nodes {
		n.mu.Lock()
		down := n.retired && n.store == nil && !n.busy
		n.mu.Unlock()
		if !down {
			continue
		}
		wiped := w.rng.IntN(2) == 0
		w.change(func() bool {
			return w.ask(i, func(ctx context.Context, s *raftstore.Store) error { return s.Admit(ctx, w.c.Nodes[i].ID, "") })
		}, func() {
			w.crash(i) // It is down; what it had not synced is lost by now.
			if wiped {
				w.c.Nodes[i].Wipe()
			}
			n.mu.Lock()
			n.retired = false
			n.mu.Unlock()
			w.start(i)
			w.count("admitted again")
		})
		return
	}
}

// wipe takes the disk of a node away, if three vote: of two voters the other one is no majority. Nor do three survive the loss of
// two disks, so no disk is taken, and no member removed, before the node has joined again and has caught up.
func (w *world) wipe(node int) {
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
			if n.busy { // A life that was just killed ends.
				n.mu.Unlock()
				return false
			}
			w.c.Nodes[node].Wipe()
			n.wiping, down = false, true
			n.mu.Unlock()
			w.start(node)
		}
		return w.isBack(node)
	}, func() { w.count("wiped and back") })
}

// voters is how many vote in the group with the fewest, for sure; 0: nobody can tell. A node that was away knows old members.
func (w *world) voters() int {
	i := w.leader(1)
	if i < 0 {
		return 0
	}
	store, _, _ := w.open(i)
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

// membersOf are the members of a group as of now; false: nobody can tell.
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

// isBack reports whether a node is in every group what it was, as the newest configuration says: one incarnation, which votes,
// or others do in its place.
func (w *world) isBack(node int) bool {
	store, _, life := w.open(node)
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
	return w.c.Same(node, life)
}

// ask puts a question to any node but one; false: it did not succeed.
func (w *world) ask(node int, question func(context.Context, *raftstore.Store) error) bool {
	for i := range w.nodes {
		if store, _, life := w.open(i); store != nil && i != node {
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
			err := question(ctx, store)
			cancel()
			return err == nil && w.c.Same(i, life)
		}
	}
	return false
}
