package simulation_test

import (
	"context"
	"time"
)

// fault is a fault to inject, or a membership change under faults.
type fault struct {
	kind   string
	weight int
	inject func(w *environment, node int)
}

var faults = []fault{
	{"crash one", 4, func(w *environment, node int) { w.crash(node) }},
	{"crash several", 2, func(w *environment, _ int) {
		for _, i := range w.members() {
			if w.rng.IntN(2) == 0 {
				w.crash(i)
			}
		}
	}},
	{"crash all", 1, func(w *environment, _ int) {
		for _, i := range w.members() {
			w.crash(i)
		}
	}},
	{"crash leader", 2, func(w *environment, _ int) {
		if i := w.leader(w.anyGroup()); i >= 0 {
			w.crash(i)
		}
	}},
	{"restart", 2, func(w *environment, node int) { w.others.Go(func() { w.shutdown(node) }) }},
	{"isolate", 2, func(w *environment, node int) { w.isolate(node) }},
	{"isolate leader", 3, func(w *environment, _ int) {
		if i := w.leader(w.anyGroup()); i >= 0 {
			w.isolate(i)
		}
	}},
	{"halves", 1, func(w *environment, _ int) {
		for i := range w.nodes {
			if w.rng.IntN(2) == 0 {
				w.isolate(i)
			}
		}
	}},
	{"one-way cut", 3, func(w *environment, node int) {
		for i := range w.nodes {
			switch w.rng.IntN(4) {
			case 0:
				w.cut(node, i)
			case 1:
				w.cut(i, node)
			}
		}
	}},
	{"delay", 2, func(w *environment, _ int) { w.c.Net.Slow(time.Duration(w.rng.IntN(500)) * time.Millisecond) }},
	{"reorder", 2, func(w *environment, _ int) { w.c.Net.Jitter(time.Duration(w.rng.IntN(2_000)) * time.Millisecond) }},
	{"slow disk", 2, func(w *environment, node int) {
		w.nodes[node].disk.slow.Store(int64(w.rng.IntN(3_000)) * int64(time.Millisecond))
	}},
	{"hung disk", 1, func(w *environment, node int) { w.nodes[node].disk.slow.Store(int64(time.Minute)) }},
	{"failing disk", 2, func(w *environment, node int) {
		if store, _, _ := w.running(node); store != nil {
			w.nodes[node].disk.fail(fileKinds[w.rng.IntN(len(fileKinds))])
		}
	}},
	{"clock skew", 3, func(w *environment, node int) {
		if w.rightClocks {
			return
		}
		span := []time.Duration{time.Second, time.Minute, 2 * time.Hour}[w.rng.IntN(3)]
		w.nodes[node].offset.Store(w.rng.Int64N(int64(2*span)) - int64(span))
	}},
	{"clock jump", 1, func(w *environment, node int) {
		if w.rightClocks {
			return
		}
		span := 26 * time.Hour
		if w.farJump {
			span = 240 * time.Hour
		}
		w.nodes[node].offset.Store(w.rng.Int64N(int64(2*span)) - int64(span))
	}},
	{"clocks agree", 2, func(w *environment, _ int) { w.alignClocks() }},
	{"transfer", 2, func(w *environment, node int) {
		id := w.anyGroup()
		if i := w.leader(id); i >= 0 {
			store, _, _ := w.running(i)
			w.others.Go(func() {
				if store != nil {
					_ = store.Transfer(context.Background(), id, w.c.Nodes[node].ID) // It may fail, and the target may be the leader itself.
				}
			})
		}
	}},
	{"join", 2, func(w *environment, _ int) { w.join() }},
	{"remove", 2, func(w *environment, node int) { w.remove(node) }},
	{"admit again", 3, func(w *environment, _ int) { w.admit() }},
	{"wipe", 2, func(w *environment, node int) { w.wipe(node) }},
}

// anyGroup returns one of the raft groups at random.
func (w *environment) anyGroup() uint16 {
	all := w.raftGroups()
	return all[w.rng.IntN(len(all))]
}

// injectFault injects one random fault and counts it.
func (w *environment) injectFault() {
	sum := 0
	for _, f := range faults {
		sum += f.weight
	}
	at := w.rng.IntN(sum)
	members := w.members()
	node := members[w.rng.IntN(len(members))]
	for _, f := range faults {
		if at -= f.weight; at < 0 {
			w.count(f.kind)
			f.inject(w, node)
			return
		}
	}
}

// injectFaults injects faults for a time. After half of them it heals all faults.
func (w *environment) injectFaults(d time.Duration) {
	for began := time.Now(); time.Since(began) < d; {
		w.injectFault()
		time.Sleep(time.Duration(w.rng.IntN(8_000)) * time.Millisecond)
		if w.rng.IntN(2) == 0 {
			w.heal()
			time.Sleep(time.Duration(w.rng.IntN(10_000)) * time.Millisecond)
		}
	}
}

// heal ends every fault but wrong clocks.
func (w *environment) heal() {
	w.c.Net.Heal()
	for _, n := range w.nodes {
		n.disk.slow.Store(0)
	}
	w.startMembers()
}

func (w *environment) cut(from, to int) {
	w.c.Net.Cut(w.c.Nodes[from].Address, w.c.Nodes[to].Address, true)
}

func (w *environment) isolate(node int) {
	for i := range w.nodes {
		w.cut(i, node)
		w.cut(node, i)
	}
}

// alignClocks sets all clocks to the one that is furthest ahead, as operators do, because the state clock does not go back.
func (w *environment) alignClocks() {
	var most int64
	for _, n := range w.nodes {
		most = max(most, n.offset.Load())
	}
	for _, n := range w.nodes {
		n.offset.Store(most)
	}
}
