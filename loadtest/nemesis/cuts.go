package main

import (
	"errors"
	"fmt"
	"time"
)

// cutSpan draws how long links are cut. In a gentle run too it is so long that a node that is cut off has to stop offering campaigns.
func (f *activeFault) cutSpan() time.Duration {
	if f.o.gentle {
		return f.randomDuration(6, 9)
	}
	return f.randomDuration(2, 20)
}

// isolate cuts a node off from all others. The node must soon offer no campaign, because it does not know what is left of the budgets.
func (f *activeFault) isolate(node int) error {
	var links [][2]int
	for other := range f.w.Nodes {
		if other != node {
			links = append(links, [2]int{node, other}, [2]int{other, node})
		}
	}
	return f.cut(links, f.cutSpan())
}

// halves separates a random minority of the nodes from the majority.
func (f *activeFault) halves() error {
	order := f.r.Perm(len(f.w.Nodes))
	small := f.setTarget(order[:f.minoritySize()], " cut off together")
	var links [][2]int
	for _, a := range small {
		for _, b := range order[f.minoritySize():] {
			links = append(links, [2]int{a, b}, [2]int{b, a})
		}
	}
	return f.cut(links, f.cutSpan())
}

// ring cuts the links of each node to the one opposite, so that every node reaches a majority and no two reach the same one. Of three
// nodes it cuts one link.
func (f *activeFault) ring() error {
	order := f.r.Perm(len(f.w.Nodes))
	var links [][2]int
	for i, a := range order {
		b := order[(i+len(order)/2)%len(order)]
		links = append(links, [2]int{a, b}, [2]int{b, a})
		if len(order) == 3 {
			break
		}
	}
	// Of three nodes a majority keeps all its links, so only one node counts as hit; of five nodes no majority does, so all count.
	f.nodes, f.target = order, fmt.Sprint(links)
	if len(order) == 3 {
		f.nodes = order[:1]
	}
	return f.cut(links, f.cutSpan())
}

// oneWay drops all that the leader of a group sends to other nodes, or all that they send to it.
func (f *activeFault) oneWay() error {
	node := f.groupLeader()[0]
	out := f.r.IntN(2) == 0
	var links [][2]int
	for other := range f.w.Nodes {
		switch {
		case other == node:
		case out:
			links = append(links, [2]int{node, other})
		default:
			links = append(links, [2]int{other, node})
		}
	}
	f.target += map[bool]string{true: " outwards", false: " inwards"}[out]
	return f.cut(links, f.cutSpan())
}

// cut cuts links for a time, and records which nodes were cut off from all others meanwhile.
func (f *activeFault) cut(links [][2]int, length time.Duration) error {
	var all []error
	for _, l := range links {
		all = append(all, f.w.Net.Cut(l[0], l[1]))
	}
	end := f.recordIsolated()
	f.sustain(length)
	end()
	for _, l := range links {
		all = append(all, f.w.Net.Heal(l[0], l[1]))
	}
	return errors.Join(all...)
}

// loss drops 5 to 30 % of all packets between nodes, at random. It returns errSkip where iptables is missing.
func (f *activeFault) loss() error {
	if !f.w.Net.CanLose() {
		return errSkip
	}
	share := 0.05 + 0.25*f.r.Float64()
	f.target = fmt.Sprintf("%.0f %%", 100*share)
	err := f.w.Net.Lose(share)
	f.sustain(f.randomDuration(5, 20))
	return errors.Join(err, f.w.Net.Lose(0))
}
