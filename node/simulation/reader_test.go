package simulation_test

import (
	"context"
	"time"

	"github.com/gavel-ads/gavel/raftstore"
	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/auction"
	"github.com/gavel-ads/gavel/shard/ledger"
	"github.com/gavel-ads/gavel/shard/money"
)

// lowerBound is what a read that begins at a time must show at least: what was acknowledged, and what others have read.
type lowerBound struct {
	at        time.Time
	lines     int
	deposited [vendors]money.Micros
	spent     map[*campaign]money.Micros
}

func (h *history) lowerBound() lowerBound {
	h.mu.Lock()
	defer h.mu.Unlock()
	f := lowerBound{at: time.Now(), lines: len(h.seen), spent: map[*campaign]money.Micros{}}
	for _, d := range h.deposits {
		if d.done && d.amount > 0 {
			f.deposited[d.vendor] += d.amount
		}
	}
	for _, c := range h.campaigns {
		f.spent[c] = max(c.acked, c.read)
	}
	return f
}

// read reads the state of any node behind a read barrier and compares it with the lower bound, because reads are linearizable.
// It tries until it succeeds, and returns false when the simulation ends first.
func (c *client) read(look func(shard.Queries)) bool {
	for {
		members := c.members()
		i := members[c.rng.IntN(len(members))]
		if store, _, run := c.running(i); store != nil && c.readAt(i, store, run, look) {
			return true
		}
		if !c.retryPause() {
			return false
		}
	}
}

// readAt reads at one node. The result of a node that has crashed meanwhile does not count, because its disk was replaced.
func (c *client) readAt(i int, store *raftstore.Store, run int, look func(shard.Queries)) bool {
	must := c.h.lowerBound()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	g := store.Group(c.h.group)
	if g.ReadBarrier(ctx) != nil || !c.c.SameGeneration(i, run) {
		return false
	}
	var got lowerBound
	var lines []ledger.Line
	err := g.Read(func(r raftstore.Reader) error {
		b := shard.Queries{R: r}
		got = c.h.shown(b, must)
		b.Journal(uint64(max(1, must.lines-20)), func(l *ledger.Line) bool { // Not negative.
			lines = append(lines, *l)
			return true
		})
		look(b)
		return nil
	})
	if err != nil || !c.c.SameGeneration(i, run) {
		return false
	}
	c.h.compare(i, must, got, lines)
	return true
}

// shown returns the values of the state that a lower bound exists for.
func (h *history) shown(b shard.Queries, must lowerBound) lowerBound {
	got := lowerBound{spent: map[*campaign]money.Micros{}}
	for v := range vendors {
		w, _ := b.Wallet(h.wallet(v))
		got.deposited[v] = w.Deposited
	}
	for x := range must.spent {
		s, _ := b.Campaign(x.id)
		got.spent[x] = s.Money.SpentTotal
	}
	return got
}

func (h *history) compare(node int, must, got lowerBound, lines []ledger.Line) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.reads++
	for v, want := range must.deposited {
		if want -= h.withdrawable(v); got.deposited[v] < want {
			h.t.Errorf("stale read at node %d: the deposits of %s are %d, must be at least %d", node, h.vendors[v], got.deposited[v], want)
		}
	}
	for x, want := range must.spent {
		if got.spent[x] < want {
			h.t.Errorf("stale read at node %d: campaign %d spent %d, must be at least %d", node, x.ordinal, got.spent[x], want)
		}
		x.read = max(x.read, got.spent[x])
	}
	h.extend(node, must, lines)
}

// withdrawable returns what corrections may have taken from a wallet: the sum of those asked for, whatever the answer.
func (h *history) withdrawable(vendor int) (sum money.Micros) {
	for _, d := range h.deposits {
		if d.vendor == vendor && d.amount < 0 {
			sum -= d.amount
		}
	}
	return sum
}

// extend compares lines of a journal with those that were read before, and stores the new ones.
func (h *history) extend(node int, must lowerBound, lines []ledger.Line) {
	end := 0
	for _, l := range lines {
		switch at := int(l.Seq) - 1; {
		case at < len(h.seen):
			if h.seen[at] != l {
				h.t.Errorf("line %d at node %d is %+v, was %+v before", l.Seq, node, l, h.seen[at])
			}
		case at == len(h.seen):
			h.seen = append(h.seen, l)
		default:
			h.t.Errorf("line %d at node %d comes after %d", l.Seq, node, len(h.seen))
		}
		end = int(l.Seq)
	}
	if end < must.lines {
		h.t.Errorf("stale read at node %d: %d lines, there were %d before", node, end, must.lines)
	}
	for _, x := range h.campaigns {
		for i := range x.budgets {
			if b := &x.budgets[i]; b.until == 0 && !b.replaced.IsZero() && b.replaced.Before(must.at) {
				b.until = end
			}
		}
	}
}

// staleGroups returns the groups whose campaigns the auctions of a node exclude now.
func (w *environment) staleGroups(i int) (out auction.Groups) {
	n := w.nodes[i]
	n.mu.Lock()
	fresh := n.fresh
	n.mu.Unlock()
	fresh.Stale(w.now(i), &out)
	return out
}

// height is an entry that some node had applied at a time, so it was committed then.
type height struct {
	at    time.Time
	index uint64
}

// freshnessSlack is the time between a commit and the tick that carries it, plus the time between two samples.
const freshnessSlack = time.Second

// checkFreshness checks that a node that takes part in auctions has applied what was committed some time ago: with right clocks
// its state is never older than the staleness limit plus freshnessSlack.
func (h *history) checkFreshness(node int, applied uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := time.Now()
	for len(h.heights) > 1 && now.Sub(h.heights[1].at) > staleness+freshnessSlack {
		h.heights = h.heights[1:]
	}
	if len(h.heights) > 0 && now.Sub(h.heights[0].at) > staleness+freshnessSlack {
		h.fresher++
		if applied < h.heights[0].index {
			h.t.Errorf("node %d takes part in auctions at entry %d; %s ago entry %d was committed", node, applied, now.Sub(h.heights[0].at), h.heights[0].index)
		}
	}
	if len(h.heights) == 0 || applied > h.heights[len(h.heights)-1].index {
		h.heights = append(h.heights, height{now, applied})
	}
}

// watch reads repeatedly and audits the state now and then.
func (c *client) watch() {
	for round := 0; c.pause(2 * thinkTime); round++ {
		ok := c.read(func(b shard.Queries) {
			if round%16 != 0 {
				return
			}
			if err := b.Verify(); err != nil {
				c.t.Errorf("%v", err)
			}
		})
		if !ok {
			return
		}
	}
}

// sample compares the states of all nodes whenever they happen to be at the same entry.
func (w *environment) sample() {
	for {
		for i := range w.nodes {
			if store, _, run := w.running(i); store != nil {
				fenced := w.staleGroups(i)
				for _, h := range w.groups {
					s := store.Group(h.group).Status()
					if !w.c.SameGeneration(i, run) || s.Applied == 0 {
						continue
					}
					h.digest(i, s.Applied, s.Digest)
					if w.rightClocks && !fenced.Has(h.group) {
						h.checkFreshness(i, s.Applied)
					}
				}
			}
		}
		select {
		case <-w.finished:
			return
		case <-time.After(200 * time.Millisecond):
		}
	}
}
